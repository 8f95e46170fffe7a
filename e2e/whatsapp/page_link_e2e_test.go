//go:build e2e

package whatsapp

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// TestAnAccountIsLinkedOnTheOperatorsPage scans the code of the page with the phone, while
// the host runs.
func TestAnAccountIsLinkedOnTheOperatorsPage(t *testing.T) {
	b := browsertest.Start(t)
	h := stage.NewHarbour(t)
	file := filepath.Join(h.Dir, "longshore.yaml")
	stage.Write(t, file, stage.Read(t, file)+"operator_page: {listen: 127.0.0.1:0}\n")
	cmd := h.Command("serve")
	stage.Must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	p := b.Open(operatorsPage(h), browsertest.Screen{Width: 480, Height: 720})
	p.Wait(`[...document.querySelectorAll("#channels button")].some((n) => n.textContent === "Pair")`)
	p.Eval(`document.querySelector("#channels button").click()`, nil)
	p.Wait(`document.querySelector("#item canvas")?.width > 100`)
	if _, err := h.Phone.Scan(stage.Soon(t), scanned(t, p.Shot("operator-pair.png"))); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById("item").innerText.includes("Linked to ` + stage.OurNumber + `")`)
	if err := h.Srv.Await(stage.Soon(t), h.Phone.Online); err != nil {
		t.Fatalf("the host did not connect: %v", err)
	}
	p.Wait(`document.querySelector("#channels .good")?.textContent === "connected"`)
}

// operatorsPage asks the host for an address until it runs.
func operatorsPage(h *stage.Harbour) string {
	h.T.Helper()
	deadline := time.After(stage.Patience)
	for {
		out, err := h.Command("page").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
		select {
		case <-deadline:
			h.T.Fatalf("no address: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
