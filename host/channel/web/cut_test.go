package web_test

import (
	"bytes"
	"io"
	"testing"
)

// A form that ended inside a part, or between two parts, was taken for a whole one: of a
// file of 120 bytes 53 arrived, and the page said 201.
func TestAFormThatWasCutArrivedInPart(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	body, kind := form(t, map[string]string{"text": "hello"}, attachment{"a.txt", bytes.Repeat([]byte("a"), 120)}, attachment{"b.txt", bytes.Repeat([]byte("b"), 20_000)})
	whole, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	post := func(body []byte) int {
		res, _ := s.do("POST", "/api/chats/family/messages", bytes.NewReader(body), "Content-Type", kind)
		return res.StatusCode
	}
	last := bytes.LastIndex(whole, []byte("--")) // of the last boundary
	for cut := 1; cut < last+2; cut++ {
		if cut == 1000 {
			cut = last - 300 // inside the second file nothing differs
		}
		if got := post(whole[:cut]); got != 400 {
			t.Errorf("cut after %d of %d bytes: %d", cut, len(whole), got)
		}
	}
	if left := stored(t, opts.Dir); len(left) != 0 || len(s.in.received()) != 0 {
		t.Errorf("%d files are left, %d messages arrived", len(left), len(s.in.received()))
	}
	for _, end := range []int{last + 2, len(whole)} { // without and with its last line break
		if got := post(whole[:end]); got != 201 {
			t.Errorf("whole: %d", got)
		}
	}
	if ms := s.history(""); len(ms) != 4 {
		t.Errorf("%d messages of two posts with two files each", len(ms))
	}
}
