package web_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// TestANameCannotBecomeMarkup shows a hostile name on both pages.
func TestANameCannotBecomeMarkup(t *testing.T) {
	const hostile = `x"><img src=x onerror=alert(1)>'&{{name}}</title>`
	opts := options(t.TempDir())
	opts.AssistantName = hostile
	opts.Chats = []channel.NamedChat{{JID: "web:family", Name: hostile, Trigger: hostile, Heard: true}, {JID: "web:work", Name: "Work & Co"}}
	s := start(t, opts)
	const escaped = `x&#34;&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&amp;{{name}}&lt;/title&gt;`
	for path, times := range map[string]int{"/": 3, "/c/family": 10} {
		answer, err := http.Get("http://" + s.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		page := string(body)
		if err != nil || answer.StatusCode != http.StatusOK || strings.Contains(page, "<img") {
			t.Errorf("%s answers %d, %v: %s", path, answer.StatusCode, err, page)
		}
		if got := strings.Count(page, escaped); got < times {
			t.Errorf("%s shows the name %d times, want at least %d: %s", path, got, times, page)
		}
		if !strings.Contains(page, "Work &amp; Co") {
			t.Errorf("%s does not name the other chat", path)
		}
	}
}

// TestGapsStandOnlyWhereEscapingHolds: see httpd.Fill. Of the attributes, those that hold
// code, styles or addresses have no gap, but for addresses that begin on this server.
func TestGapsStandOnlyWhereEscapingHolds(t *testing.T) {
	gap := regexp.MustCompile(`\{\{\w+\}\}`)
	code := regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->`)
	tag := regexp.MustCompile(`(?s)<[a-zA-Z/](?:[^>"]|"[^"]*")*>`)
	attribute := regexp.MustCompile(`([\w-]+)="([^"]*)"`)
	pages, err := filepath.Glob("assets/*.html")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range append(pages, "../../command/pairpage/pair.html") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range code.FindAllString(string(page), -1) {
			if gap.MatchString(piece) {
				t.Errorf("%s has a gap in %q", name, piece)
			}
		}
		for _, piece := range tag.FindAllString(string(page), -1) {
			for _, a := range attribute.FindAllStringSubmatch(piece, -1) {
				key, value := strings.ToLower(a[1]), a[2]
				address := key == "href" || key == "src" || strings.HasSuffix(key, "action")
				if gap.MatchString(value) && (strings.HasPrefix(key, "on") || key == "style" || key == "srcdoc" || address && !regexp.MustCompile(`^/\w`).MatchString(value)) {
					t.Errorf("%s has a gap in the attribute %s", name, a[0])
				}
			}
			if bare := attribute.ReplaceAllString(piece, ""); gap.MatchString(bare) {
				t.Errorf("%s has a gap in a tag without quotes: %s", name, piece)
			}
		}
		seen += len(gap.FindAll(page, -1))
	}
	if seen < 20 {
		t.Errorf("only %d gaps found: this test no longer sees them", seen)
	}
}
