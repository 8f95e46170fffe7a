package whatsapp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

// childPrograms are what the test binary does instead of testing when
// WHATSAPP_TEST_CHILD names one: what has to be a process of its own.
var childPrograms = map[string]func() int{"send": sendOne}

// sendOne is a host that sends one file and prints the most memory it took.
// Its arguments come by the environment: the server's address, the store, the
// message's id, the file.
func sendOne() int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	limits := whatsapp.DefaultLimits()
	limits.Kinds[media.Document] = media.Limit{Bytes: 2 << 30, Caption: 1024}
	ch, err := whatsapp.New(whatsapp.Options{
		Dir: os.Getenv("WHATSAPP_TEST_DIR"), HTTPClient: whatsapptest.ClientFor(os.Getenv("WHATSAPP_TEST_ADDR")), Lookup: whatsapptest.Lookup,
		Limits: limits,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- ch.Run(runCtx, &inbox{news: make(chan struct{})}) }()
	m, err := fileOnDisk(os.Getenv("WHATSAPP_TEST_FILE"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m.ID = os.Getenv("WHATSAPP_TEST_ID")
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if _, err = ch.Send(ctx, m); err == nil || channel.ClassOf(err) != channel.Passing {
			break
		}
	}
	stop()
	if runErr := <-ended; err != nil || runErr != nil {
		fmt.Fprintln(os.Stderr, err, runErr)
		return 1
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Print(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")))
		}
	}
	return 0
}

func fileOnDisk(path string) (channel.Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return channel.Message{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return channel.Message{Chat: family, Files: []channel.File{{
		Info:   media.Info{Name: "large.bin", Kind: media.Document, MIME: "application/octet-stream", Size: n},
		SHA256: hex.EncodeToString(h.Sum(nil)), Open: openPath(path),
	}}}, err
}

// child is that host as a process.
func (w *world) child(path, id string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WHATSAPP_TEST_CHILD=send", "WHATSAPP_TEST_DIR="+w.opts.Dir, "WHATSAPP_TEST_ADDR="+w.srv.Addr(),
		"WHATSAPP_TEST_FILE="+path, "WHATSAPP_TEST_ID="+id)
	cmd.Stderr = os.Stderr
	return cmd
}

func noiseOnDisk(t testing.TB, size int64) string {
	t.Helper()
	path := t.TempDir() + "/large.bin"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := noise(1 << 20)
	for n := int64(0); n < size; n += int64(len(block)) {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestALargeDocumentTakesLittleMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		if os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("peak memory is read from /proc")
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
