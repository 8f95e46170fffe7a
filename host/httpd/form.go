package httpd

import (
	"errors"
	"io"
	"mime"
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

// FileName returns the file name of a part as its sender had it, with its slashes; empty if the
// part is no file. Browsers write a quote and line breaks as %22, %0D and %0A and nothing
// else so, says the HTML standard under "multipart form data"; other programs write filename*.
func FileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	name := params["filename"]
	if strings.Contains(part.Header.Get("Content-Disposition"), "filename*") {
		return name // which is decoded already
	}
	return strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n").Replace(name)
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, errFormCut }
