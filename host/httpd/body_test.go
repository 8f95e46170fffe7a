package httpd

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is an answer that notes by when a body must have come.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// TestABodyThatCameFastMayNotStallForLonger: half a minute of grace, which 16 KiB give a
// second of back. A gigabyte that came at once does not keep a place for a day.
func TestABodyThatCameFastMayNotStallForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rw := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 1<<20)))
		p := Body(rw, r, 1<<20, Speed{16 << 10, 30 * time.Second})
		read := func(n int, want time.Duration) {
			t.Helper()
			if _, err := io.ReadFull(p, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(p.(*body).due).Round(time.Millisecond); got != want {
				t.Errorf("the next bytes must come within %v, want %v", got, want)
			}
		}
		read(512<<10, 30*time.Second)
		time.Sleep(20 * time.Second) // of the bubble
		read(16, 10*time.Second+time.Millisecond)
		read(32<<10, 12*time.Second+time.Millisecond)
		due := p.(*body).due
		if read(16, 12*time.Second+2*time.Millisecond); !rw.read.Equal(due) {
			t.Errorf("the connection waits until %v, want %v", rw.read, due)
		}
	})
}
