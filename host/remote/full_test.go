package remote

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/store"
)

// On a full disk one way in said 503, another that the body had not come whole.
func TestAFullDiskHadOtherWordsAtEachWayIn(t *testing.T) {
	d := newWorld(t).Server
	want := httptest.NewRecorder()
	httpd.Fail(want, httpd.ErrDiskFull)
	for _, err := range []error{
		syscall.ENOSPC, fmt.Errorf("record a call: %w", syscall.EDQUOT), store.ErrFull,
		tooLarge(intake.ErrNoRoom, 1), tooLarge(fmt.Errorf("write: %w", syscall.ENOSPC), 1),
	} {
		got := httptest.NewRecorder()
		d.fail(got, err)
		if got.Code != 507 || !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) {
			t.Errorf("%v: %d %s", err, got.Code, got.Body)
		}
	}
}
