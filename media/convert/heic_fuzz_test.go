package convert

import (
	"bytes"
	"testing"
)

// FuzzHEIC: no file has more read or written than it has bytes itself.
func FuzzHEIC(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0cftypheic\x00\x00\x00\x1ameta\x00\x00\x00\x00\x00\x00\x00\x0epitm\x00\x00\x00\x00\x00\x01"))
	f.Add([]byte("\x00\x00\x00\x2cmeta\x00\x00\x00\x00\x00\x00\x00\x20iloc\x01\x00\x00\x00\x44\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		h, err := readHEIC(r, r.Size())
		if err != nil {
			return
		}
		_ = h.filter()
		var out bytes.Buffer
		if err := h.stream(&out, r, r.Size()); err == nil && int64(out.Len()) > r.Size() {
			t.Errorf("%d bytes of %d", out.Len(), r.Size())
		}
	})
}
