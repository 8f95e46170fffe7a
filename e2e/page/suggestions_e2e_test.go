//go:build e2e

package page

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// TestAStrangersFirstClickBringsAFile clicks each suggestion of the demo's empty chat,
// and holds what the page offers against what the assistant wrote.
func TestAStrangersFirstClickBringsAFile(t *testing.T) {
	b := browsertest.Start(t)
	begins := map[string]string{".pdf": "%PDF-", ".png": "\x89PNG", ".csv": "day,containers,", ".ics": "BEGIN:VCALENDAR\r\n"}
	seen := map[string]bool{}
	for i := range 3 {
		page, h := startDemo(t)
		p := b.Open(page+"/c/family", browsertest.Screen{Width: 1280, Height: 800})
		p.Wait(`document.getElementById("state").textContent === "with Andy" && document.querySelectorAll(".ideas button").length === 3`)
		var words string
		p.Eval(fmt.Sprintf(`((b) => { b.click(); return b.textContent; })(document.querySelectorAll(".ideas button")[%d])`, i), &words)
		p.Wait(fmt.Sprintf(`document.querySelector("#messages .own .text")?.textContent === %q`, words))
		p.Wait(`document.activeElement.id === "text" && document.getElementById("text").value === ""`)
		p.Wait(`document.querySelector("#messages .other .text") && document.querySelector("#messages .own .tick").title === "Read" && document.getElementById("typing").hidden`)
		p.Wait(`[...document.querySelectorAll("#messages .shot img")].every((n) => n.naturalWidth > 300)`)
		p.Wait(`document.querySelector('[data-chat="family"] small').textContent.startsWith("Andy: ")`)
		p.Shot(fmt.Sprintf("suggestion-%d.png", i+1))
		var links []string
		p.Eval(`[...document.querySelectorAll("#messages a[href*='/files/'], #messages .shot img")].map((n) => n.href || n.src)`, &links)
		if len(links) == 0 {
			t.Errorf("%q brings no file", words)
		}
		for _, link := range links {
			name, _, _ := strings.Cut(filepath.Base(link), "?")
			content := stage.Fetch(t, link)
			sum := sha256.Sum256([]byte(content))
			if wrote, err := stage.SumOfFile(h.Layout.Workspace("family"), name); err != nil || wrote != hex.EncodeToString(sum[:]) {
				t.Errorf("%s is not what the assistant wrote: %v", name, err)
			}
			if begin := begins[filepath.Ext(name)]; begin == "" || !strings.HasPrefix(content, begin) {
				t.Errorf("%s begins with %.20q", name, content)
			}
			seen[filepath.Ext(name)] = true
		}
	}
	if len(seen) != len(begins) {
		t.Errorf("the three suggestions bring %v", seen)
	}
}
