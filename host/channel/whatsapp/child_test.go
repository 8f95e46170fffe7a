package whatsapp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
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
	dir := os.Getenv("WHATSAPP_TEST_DIR")
	db, err := state.Open(ctx, statetest.Spec(filepath.Join(dir, "state")), slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer db.Close()
	ch, err := whatsapp.New(whatsapp.Options{
		Dir: dir, State: db, Network: whatsapptest.NewNetwork(os.Getenv("WHATSAPP_TEST_ADDR")),
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
		SHA256: hex.EncodeToString(h.Sum(nil)), Content: openPath(path),
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
