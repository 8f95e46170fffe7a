package audit

import (
	"bytes"
	"strings"
	"testing"
)

// TestWhatIsLeftOutIsASetting: by default no words and no members' numbers stand in the
// trail. What the operator asks for does, and a search finds a chat in either form.
func TestWhatIsLeftOutIsASetting(t *testing.T) {
	const jid = "4917012345678@s.whatsapp.net"
	for name, tt := range map[string]struct {
		out         []string
		has, hasNot []string
	}{
		"by default": {nil, []string{"plan.pdf"}, []string{"the words", "49170"}},
		"nothing":    {[]string{}, []string{"plan.pdf", "the words", "to " + jid, `"chat":"` + jid}, nil},
		"captions":   {[]string{Captions}, []string{"plan.pdf", jid}, []string{"the words"}},
		"numbers":    {[]string{Numbers}, []string{"plan.pdf", "the words", "(rule ssh-key)"}, []string{"49170"}},
		"names":      {[]string{Names, Captions, Numbers}, []string{"(rule ssh-key)", "sha256"}, []string{"plan.pdf", "the words", "49170"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := quiet(t.TempDir())
			if tt.out != nil {
				o.Settings = settings{0, tt.out}
			}
			l := open(t, o)
			parts := []Part{{Kind: "document", Name: "plan.pdf", SHA256: strings.Repeat("ab", 32), Text: "the words to " + jid}}
			l.Add(Entry{Event: "sent", Delivery: "d", Chat: l.Mask(jid), Parts: parts},
				Entry{Event: "refused", Message: `"my \" plan.pdf" is or holds an SSH key, which must not leave to ` + jid + ` (rule ssh-key)`})
			closed(t, l)
			if parts[0].Name == "" || parts[0].Text == "" {
				t.Errorf("the caller's parts were changed: %+v", parts)
			}
			all, err := Newest(t.Context(), Files(o.Dir), Query{Chat: jid}, 10)
			if err != nil || len(all) != 1 {
				t.Fatalf("by the chat: %+v, %v", all, err)
			}
			if all, err = Newest(t.Context(), Files(o.Dir), Query{Text: jid}, 10); err != nil || len(all) != 2 {
				t.Errorf("by the chat as text: %+v, %v", all, err)
			}
			var whole bytes.Buffer
			for _, e := range all {
				if _, err := encode(&whole, &e); err != nil {
					t.Fatal(err)
				}
			}
			for _, w := range tt.has {
				if !strings.Contains(whole.String(), w) {
					t.Errorf("lacks %q:\n%s", w, &whole)
				}
			}
			for _, w := range tt.hasNot {
				if strings.Contains(whole.String(), w) {
					t.Errorf("has %q:\n%s", w, &whole)
				}
			}
		})
	}
}
