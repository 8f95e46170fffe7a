package command

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// TestAnAccountIsLinkedOnTheOperatorsPage scans the code of the page with the phone, while
// the host runs.
func TestAnAccountIsLinkedOnTheOperatorsPage(t *testing.T) {
	b := browsertest.Start(t)
	h := newHarbour(t)
	file := filepath.Join(h.dir, "longshore.yaml")
	write(t, file, read(t, file)+"operator_page: {listen: 127.0.0.1:0}\n")
	cmd := h.command("serve")
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	p := b.Open(h.operatorsPage(), browsertest.Screen{Width: 480, Height: 720})
	p.Wait(`[...document.querySelectorAll("#channels button")].some((n) => n.textContent === "Pair")`)
	p.Eval(`document.querySelector("#channels button").click()`, nil)
	p.Wait(`document.querySelector("#item canvas")?.width > 100`)
	if _, err := h.phone.Scan(soon(t), scanned(t, p.Shot("operator-pair.png"))); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById("item").innerText.includes("Linked to ` + ourNumber + `")`)
	if err := h.srv.Await(soon(t), h.phone.Online); err != nil {
		t.Fatalf("the host did not connect: %v", err)
	}
	p.Wait(`document.querySelector("#channels .good")?.textContent === "connected"`)
}

// operatorsPage asks the host for an address until it runs.
func (h *harbour) operatorsPage() string {
	h.t.Helper()
	deadline := time.After(patience)
	for {
		out, err := h.command("page").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
		select {
		case <-deadline:
			h.t.Fatalf("no address: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
