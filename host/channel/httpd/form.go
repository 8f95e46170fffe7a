package httpd

import (
	"errors"
	"io"
	"mime/multipart"
	"strings"
)

// errFormCut says that a form ends before its last boundary.
var errFormCut = errors.New("the form ends before its last boundary")

// Form reads a form whose end is its last boundary. A [multipart.Reader] alone takes the
// end of the body for that too, between two parts and in the header of a part. The line
// break is for a last boundary that has none.
func Form(body io.Reader, boundary string) *multipart.Reader {
	return multipart.NewReader(io.MultiReader(body, strings.NewReader("\r\n"), cut{}), boundary)
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, errFormCut }
