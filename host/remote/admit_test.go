package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestARequestCameIntoTheQueueAfterItsSessionHadEnded: the session's connection had broken
// while the disk was slow, and the turn was judged, and run again, before its request was seen.
func TestARequestCameIntoTheQueueAfterItsSessionHadEnded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(o *Options) {
		o.Disk = diskFunc(func(int64) (func(), error) {
			close(entered)
			<-release
			return func() {}, nil
		})
	})
	w.hold(true)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	token, end, err := w.Admit(l, "b", "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"buffer":"aGVsbG8=","file_name":"a.txt"}`
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/api/send-media", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	<-entered
	queue := make(chan []os.DirEntry, 1)
	go func() {
		end()
		all, _ := os.ReadDir(filepath.Join(w.dir, "ipc", "b", ipc.MessagesDir))
		queue <- all
	}()
	_, _ = io.Copy(io.Discard, conn) // until the server has ended the connection
	close(release)
	if all := <-queue; len(all) != 1 {
		t.Errorf("when the session had ended, the queue held %v", all)
	}
	if _, ok, err := w.Authenticate(context.Background(), token, ""); ok || err != nil {
		t.Errorf("its token counts on: %t, %v", ok, err)
	}
}
