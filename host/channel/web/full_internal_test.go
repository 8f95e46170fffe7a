package web

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// A text for which the disk had no room was answered with 500 "internal", a file with 507.
func TestATextOnAFullDiskWasAnInternalError(t *testing.T) {
	w := &Web{log: slog.New(slog.DiscardHandler)}
	want := httptest.NewRecorder()
	httpd.Fail(want, httpd.ErrDiskFull)
	for _, err := range []error{
		httpd.ErrDiskFull,
		fmt.Errorf("keep a message: %w", &stores.Error{Kind: stores.ErrFull}),
		fmt.Errorf("keep a file: %w", &fs.PathError{Op: "write", Err: syscall.ENOSPC}),
		&fs.PathError{Op: "write", Err: syscall.EDQUOT},
	} {
		got := httptest.NewRecorder()
		w.failed(got, httptest.NewRequest(http.MethodPost, "/api/chats/family/messages", http.NoBody), err)
		if got.Code != http.StatusInsufficientStorage || got.Body.String() != want.Body.String() {
			t.Errorf("%v: %d %s", err, got.Code, got.Body)
		}
	}
}
