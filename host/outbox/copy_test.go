package outbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox"
)

func TestCopyKeepsExactlyWhatWasSaid(t *testing.T) {
	o := open(t, outbox.Options{})
	tests := []struct {
		name, content string
		size          int64
		want          error
	}{
		{"as said", "hello", 5, nil},
		{"empty", "", 0, nil},
		{"not small", large("hello"), blob.Small + 5, nil},
		{"grew", "hello, world", 5, outbox.ErrChanged},
		{"was truncated", "hel", 5, outbox.ErrChanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Read(make([]byte, 2)); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			fromFile, err := o.CopyFile(context.Background(), f, tt.size)
			if !errors.Is(err, tt.want) {
				t.Errorf("copy file: %v", err)
			}
			fromReader, err := o.Copy(context.Background(), strings.NewReader(tt.content), tt.size)
			if !errors.Is(err, tt.want) {
				t.Errorf("copy: %v", err)
			}
			for _, b := range []outbox.Blob{fromFile, fromReader} {
				if tt.want != nil {
					continue
				}
				kept, err := b.Bytes, error(nil)
				if kept == nil {
					kept, err = os.ReadFile(filepath.Join(o.dir, "blobs", b.Name))
				}
				sum := sha256.Sum256([]byte(tt.content))
				if err != nil || string(kept) != tt.content || b.SHA256 != hex.EncodeToString(sum[:]) || b.Size != tt.size {
					t.Errorf("kept %q as %+v: %v", kept, b, err)
				}
				o.Discard(b)
			}
			if left := blobs(t, o); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
