package remote

import (
	"bytes"
	"mime/multipart"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
)

// A form that ended between two parts, or in the header of one, was a call without the rest.
func TestAFormThatWasCutWasACall(t *testing.T) {
	var whole bytes.Buffer
	m := multipart.NewWriter(&whole)
	file, err := m.CreateFormFile(fieldFile, "a.txt")
	if err == nil {
		_, err = file.Write([]byte("the bytes of a file"))
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &Server{bodies: intake.NewBodies(&settings{quota: 1 << 20}, diskFunc(plenty))}
	tmp := t.TempDir()
	read := func(body []byte) error {
		place := d.bodies.Begin("a")
		defer place.End()
		c, err := readForm(intake.DefaultLimits(), httpd.Form(bytes.NewReader(body), m.Boundary()), tmp, place, 1<<20)
		c.close()
		return err
	}
	end := bytes.LastIndex(whole.Bytes(), []byte("--")) + 2
	for cut := range end {
		if err := read(whole.Bytes()[:cut]); err == nil {
			t.Errorf("cut after %d of %d bytes: taken", cut, end)
		}
	}
	if err := read(whole.Bytes()[:end]); err != nil {
		t.Errorf("whole, without its last line break: %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
