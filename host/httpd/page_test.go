package httpd

import "testing"

func TestAPageIsFilledAndEveryValueIsEscaped(t *testing.T) {
	v := Values{"name": `"><script>'&`, "none": "", "on": true, "off": false, "chats": []Values{{"slug": "a"}, {"slug": "b", "name": "B"}}}
	for page, want := range map[string]string{
		`<b title="{{name}}">{{name}}</b>`:               `<b title="&#34;&gt;&lt;script&gt;&#39;&amp;">&#34;&gt;&lt;script&gt;&#39;&amp;</b>`,
		`{{#name}}some{{/name}}{{#none}}none{{/none}}.`:  `some.`,
		`{{#on}}on{{#off}}off{{/off}}{{/on}}.`:           `on.`,
		`{{#chats}}{{slug}}{{#on}}!{{/on}} {{/chats}}`:   `a! b! `,
		`{{#chats}}{{slug}}={{none}}{{/chats}}{{none}}.`: `a=b=.`,
	} {
		got, err := Fill(page, v)
		if err != nil || got != want {
			t.Errorf("%s becomes %q, %v; want %q", page, got, err, want)
		}
	}
}

func TestAMistakeInAPageIsAnError(t *testing.T) {
	v := Values{"name": "Ann", "on": true, "number": 1, "chats": []Values{{}}}
	for _, page := range []string{
		"{{", "{{}}", "{{name", "{{nmae}}", "{{#nmae}}{{/nmae}}", "{{#on}}", "{{#on}}{{nmae}}{{/on}}", "{{/on}}", "{{number}}", "{{#chats}}{{nmae}}{{/chats}}",
	} {
		if got, err := Fill(page, v); err == nil {
			t.Errorf("%s becomes %q, want an error", page, got)
		}
	}
}
