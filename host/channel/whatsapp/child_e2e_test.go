//go:build e2e

package whatsapp_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/internal/need"
)

func TestALargeDocumentTakesLittleMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		need.Lacking(t, "say what memory a process took at most: %v", err)
	}
	size, most := int64(300<<20), 64<<10 // bytes, KB
	if raceDetector {
		size = 30 << 20 // its memory is the detector's
	}
	w := newWorld(t)
	path := noiseOnDisk(t, size)
	out, err := w.child(path, newID()).Output()
	if err != nil {
		t.Fatal(err)
	}
	var peak int
	if _, err := fmt.Sscan(string(out), &peak); err != nil || peak == 0 {
		t.Fatalf("the child tells its peak as %q", out)
	}
	t.Logf("peak resident memory %d KB for a document of %d KB", peak, size>>10)
	if peak > most && !raceDetector {
		t.Errorf("peak resident memory is %d KB, want at most %d", peak, most)
	}
	if got := w.fetch(w.seen(family, 1)[0].Message); got.Size != size {
		t.Errorf("%d bytes arrived, want %d", got.Size, size)
	}
}

// The host is killed at each step of a delivery; the next one with the same
// message brings it to one visible copy.
func TestAKilledHostLosesNothingAndRepeatsNothing(t *testing.T) {
	path := noiseOnDisk(t, 1<<20)
	w := emptyWorld(t)
	for name, f := range map[string]whatsapptest.Fault{
		"before it is welcome":                {On: whatsapptest.OnLogin, Do: whatsapptest.Hold, Phone: botNumber},
		"in the question about the group":     {On: whatsapptest.OnIQ, Do: whatsapptest.Swallow, Kind: "w:g2", Phone: botNumber},
		"in the middle of the upload":         {On: whatsapptest.OnUpload, Do: whatsapptest.Hold, Bytes: 500_000},
		"after the upload, before the answer": {On: whatsapptest.OnUpload, Do: whatsapptest.LoseAck},
		"before the message is taken":         {On: whatsapptest.OnMessage, Do: whatsapptest.Swallow, Phone: botNumber},
		"after the message was taken":         {On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck, Phone: botNumber},
	} {
		t.Run(name, func(t *testing.T) {
			w.again(t)
			id := newID()
			held := w.srv.Fail(f)
			cmd := w.child(path, id)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-held.Hit():
			case <-time.After(time.Minute):
				t.Error("the step was not reached")
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			held.Release()
			if out, err := w.child(path, id).Output(); err != nil {
				t.Fatalf("the second host: %v %s", err, out)
			}
			w.run()
			end := w.send(text(family, "end"))
			got := w.seen(family, 2)
			if len(got) != 2 || got[1].Info.ID != end.ID || w.fetch(got[0].Message).Size != 1<<20 {
				t.Errorf("Anna sees %d messages", len(got))
			}
		})
	}
}
