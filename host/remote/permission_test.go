package remote

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

// TestASessionAsksForAPermission: the answer comes as soon as it is given, to the
// conversation alone that has asked.
func TestASessionAsksForAPermission(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token := w.token("b", "")
	body := func(s string) *strings.Reader { return strings.NewReader(s) }
	for name, bad := range map[string]string{
		"no object": `[]`, "no tool": `{"description":"x"}`, "a short id": `{"id":"7","tool":"Bash"}`, "another field": `{"tool":"Bash","answer":"allow"}`, "no text": `{"tool":{}}`, "too long": `{"tool":"` + strings.Repeat("x", maxPermission) + `"}`,
	} {
		if a := w.ask("POST", permissionsPath, token, body(bad)); a.http < 400 || a.http >= 500 || a.Error.Hint == "" {
			t.Errorf("%s: %d %s", name, a.http, a.body)
		}
	}
	if a := w.ask("POST", permissionsPath, token, body(`{"tool":"Bash","description":"List files","input":"ls"}`)); a.http != http.StatusOK || !strings.Contains(a.body, `"id":"q1"`) {
		t.Fatal(a.http, a.body)
	}
	for name, other := range map[string]string{"another group": w.token("a", ""), "another thread": w.token("b", "t1")} {
		if a, none := w.ask("GET", permissionsPath+"/q1", other, nil), w.ask("GET", permissionsPath+"/q9", other, nil); a.http != http.StatusNotFound || a.body != none.body {
			t.Errorf("%s: %d %s", name, a.http, a.body)
		}
	}
	if a := w.ask("GET", permissionsPath+"/q1", token, nil); a.http != http.StatusOK || strings.Contains(a.body, "answer") {
		t.Error(a.http, a.body)
	}
	got := make(chan answered, 1)
	go func() { got <- w.ask("GET", permissionsPath+"/q1?wait=40s", token, nil) }()
	l.awaits(2)
	l.decides("allow")
	if a := <-got; !strings.Contains(a.body, `"answer":"allow"`) {
		t.Error(a.body)
	}
}

// TestQuestionsDoNotKeepMessagesBack: a session that waits for answers fetches its messages, too.
func TestQuestionsDoNotKeepMessagesBack(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token := w.token("b", "")
	if a := w.ask("POST", permissionsPath, token, strings.NewReader(`{"tool":"Bash"}`)); a.http != http.StatusOK {
		t.Fatal(a.http, a.body)
	}
	for i := range maxGroupPolls {
		w.asking.begin(tokens.Identity{Folder: "b", Token: fmt.Sprint(i / maxTokenPolls)})
	}
	if a := w.ask("GET", permissionsPath+"/q1?wait=1s", token, nil); a.http != http.StatusTooManyRequests || a.Error.Code != "busy" {
		t.Errorf("one more: %d %s", a.http, a.body)
	}
	l.post("1")
	if a := w.ask("GET", inboxPath, token, nil); a.http != http.StatusOK || !strings.Contains(a.body, `"id":"1"`) {
		t.Error(a.http, a.body)
	}
}

// TestAMessageThatASessionDoesNotTakeIsTold.
func TestAMessageThatASessionDoesNotTakeIsTold(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	l.post("1")
	if a := w.ask("POST", "/api/inbox/1/unheard", w.token("b", ""), nil); a.http != http.StatusOK || !strings.Contains(a.body, `"waits":true`) {
		t.Error(a.http, a.body)
	}
	if a := w.ask("POST", "/api/inbox/1/unheard", w.token("a", ""), nil); a.http != http.StatusNotFound {
		t.Error(a.http, a.body)
	}
	if len(l.unheard) != 1 {
		t.Error(l.unheard)
	}
}

// FuzzPermission: any body is a question of bounded texts, or refused with a remedy.
func FuzzPermission(f *testing.F) {
	for _, seed := range []string{`{"tool":"Bash","description":"List files","input":"ls"}`, `{"tool":""}`, `{"tool":"a","tool":"b"}`, `{"id":"0123456789abcdef0123456789abcdef","tool":"a"}`, `{`, `{"tool":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readPermission(bytes.NewReader(b))
		var refused *httpd.Problem
		if err != nil && (!errors.As(err, &refused) || refused.Hint == "") || err == nil && (p.Tool == "" || len(p.ID) != 0 && len(p.ID) != 32 || p.Answer != "") {
			t.Errorf("%q: %+v, %v", b, p, err)
		}
	})
}
