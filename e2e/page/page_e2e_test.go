//go:build e2e

package page

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// startDemo runs the demo's host until the test ends and returns its page.
func startDemo(t *testing.T) (page string, h *serve.Host) {
	t.Helper()
	h = stage.StartHost(t, stage.ConfigIn(t, filepath.Join(t.TempDir(), "demo.yaml"), stage.DemoConfig(t)), nil)
	return strings.TrimRight(stage.WebOf(h).URL(), "/"), h
}

// TestAMemberAsksForTheReport is the README's first promise, in a real
// browser: the words are typed, and the files are looked at.
func TestAMemberAsksForTheReport(t *testing.T) {
	b := browsertest.Start(t)
	page, h := startDemo(t)
	p := b.Open(page+"/c/family", browsertest.Screen{Width: 1200, Height: 820})
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("send me the report")
	p.Enter()
	p.Wait(`document.querySelectorAll("#messages .card").length >= 1 && document.querySelector("#messages .shot img")?.naturalWidth > 300`)
	p.Wait(`[...document.querySelectorAll("#messages .other .text")].some((n) => n.textContent.startsWith("Here is the report"))`)
	p.Wait(`document.getElementById("typing").hidden`)
	p.Shot("demo-report.png")

	var links []string
	p.Eval(`[...document.querySelectorAll("#messages a[href*='/files/'], #messages .shot img")].map((n) => n.href || n.src)`, &links)
	got := map[string]string{}
	for _, link := range links {
		name, _, _ := strings.Cut(filepath.Base(link), "?")
		got[name] = stage.Fetch(t, link)
	}
	pdf, png := 0, 0
	for name, content := range got {
		sum := sha256.Sum256([]byte(content))
		wrote, err := stage.SumOfFile(h.Layout.Workspace("family"), name)
		if err != nil || wrote != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what the assistant wrote: %v", name, err)
		}
		switch {
		case strings.HasPrefix(content, "%PDF-"):
			pdf++
			opens(t, content)
		case strings.HasPrefix(content, "\x89PNG"):
			png++
		}
	}
	if pdf != 1 || png != 1 {
		t.Errorf("%d PDFs and %d pictures among %v", pdf, png, links)
	}
}

// opens has a PDF reader of somebody else's open the file.
func opens(t *testing.T, pdf string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(path, []byte(pdf), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pdfinfo", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Pages:") {
		if errors.Is(err, exec.ErrNotFound) {
			need.Lacking(t, "open a PDF: %v; install poppler-utils", err)
		}
		t.Errorf("pdfinfo: %v\n%s", err, out)
	}
}
