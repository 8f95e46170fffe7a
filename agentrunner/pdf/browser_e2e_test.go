//go:build e2e

package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/pdf"
	"github.com/longshore-bridge/longshore/internal/need"
)

// limit is for a machine that is busy with other tests.
const limit = 10 * time.Minute

// needBrowser skips the test if no browser prints HTML here.
func needBrowser(t *testing.T) {
	t.Helper()
	if err := tried(); err != nil {
		need.Lacking(t, "print HTML by Chromium: %v", err)
	}
}

var tried = sync.OnceValue(func() error { // once for all tests
	dir, err := os.MkdirTemp("", "pdf")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if !pdf.HasBrowser() {
		return errors.New("none of its names is installed")
	}
	_, err = pdf.MakeWithin(context.Background(), pdf.Document{HTML: true, Text: []byte("<p>one page")}, dir, limit)
	return err
})

func printed(t *testing.T, d pdf.Document) []byte {
	t.Helper()
	path, err := pdf.MakeWithin(t.Context(), d, t.TempDir(), limit)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHTMLIsPrinted(t *testing.T) {
	needBrowser(t)
	b := printed(t, pdf.Document{HTML: true, Text: []byte("<!DOCTYPE html><html><head><title>The report</title></head><body><h1>Hello</h1></body></html>")})
	if !bytes.HasPrefix(b, []byte("%PDF-")) || !bytes.Contains(b, []byte("/Type /Page")) {
		t.Errorf("%d bytes: %.40q", len(b), b)
	}
}

// Without a container, temporary directories lie deep in the host's state.
func TestDirectoryWithALongPathIsNoObstacle(t *testing.T) {
	needBrowser(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pdf.MakeWithin(t.Context(), pdf.Document{HTML: true, Text: []byte("<p>Hello")}, dir, limit); err != nil {
		t.Error(err)
	}
}

func TestMarkdownIsPrinted(t *testing.T) {
	needBrowser(t)
	program(t, "cmark", "echo \"<h1>From $(cat)</h1>\"")
	if b := printed(t, pdf.Document{Text: []byte("# Markdown")}); !bytes.HasPrefix(b, []byte("%PDF-")) {
		t.Errorf("%d bytes: %.40q", len(b), b)
	}
}

// A page that an assistant took from the web asks for other pages, for this
// machine's files and for its own servers.
func TestPageLoadsNothingButPicturesOfTheDisk(t *testing.T) {
	needBrowser(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.html")
	if err := os.WriteFile(secret, []byte("<body style='width:3000px'><p>"+strings.Repeat("secret words fill many pages<br>", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	harmless := printed(t, pdf.Document{HTML: true, Text: []byte("<p>one page")})
	for name, page := range map[string]string{
		"frame":            "<iframe width=600 height=800 src='file://" + secret + "'></iframe>",
		"object":           "<object data='file://" + secret + "'></object><embed src='file://" + secret + "'>",
		"refresh":          "<meta http-equiv=refresh content='0;url=file://" + secret + "'>",
		"refresh, loud":    "<META HTTP-EQUIV='Refresh' CONTENT='0;URL=file://" + secret + "'>",
		"script":           "<script>location='file://" + secret + "'</script>",
		"script in events": "<img src=x onerror=\"location='file://" + secret + "'\">",
		"own base":         "<base href='" + server.URL + "/'><img src=a.png><link rel=stylesheet href=b.css>",
		"network":          "<img src='" + server.URL + "/a.png'><style>@import url(" + server.URL + "/b.css);</style><iframe src='" + server.URL + "'></iframe>",
		"svg":              "<svg><image href='" + server.URL + "/c.png'/><foreignObject><iframe src='file://" + secret + "'/></foreignObject></svg>",
	} {
		b := printed(t, pdf.Document{HTML: true, Text: []byte(page), Dir: dir})
		if got, want := bytes.Count(b, []byte("/Type /Page\n")), bytes.Count(harmless, []byte("/Type /Page\n")); got != want {
			t.Errorf("%s: %d pages, want %d: another page was printed", name, got, want)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the network was asked %d times", n)
	}
}

func TestPictureBesideTheDocumentIsPrinted(t *testing.T) {
	needBrowser(t)
	dir := filepath.Join(t.TempDir(), `a "b" & <c>`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg" width="500" height="9000"><rect width="500" height="9000"/></svg>`
	if err := os.WriteFile(filepath.Join(dir, "tall.svg"), []byte(svg), 0o644); err != nil {
		t.Fatal(err)
	}
	b := printed(t, pdf.Document{HTML: true, Text: []byte("<img src=tall.svg>"), Dir: dir})
	if n := bytes.Count(b, []byte("/Type /Page\n")); n < 5 {
		t.Errorf("%d pages, so the picture is not in it", n)
	}
}

// onlyWeasyprint makes it the only program that prints, or skips the test.
func onlyWeasyprint(t *testing.T) {
	t.Helper()
	weasyprint, err := exec.LookPath("weasyprint")
	if err != nil {
		need.Lacking(t, "print HTML by weasyprint: %v", err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Symlink(weasyprint, filepath.Join(dir, "weasyprint")), os.Symlink(pythonWithWeasyprint(t), filepath.Join(dir, "python3"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

// pythonWithWeasyprint is the Python that has the package: the system's, or the one in the
// PATH.
func pythonWithWeasyprint(t *testing.T) string {
	t.Helper()
	var why string
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		out, err := exec.Command(name, "-I", "-c", "import weasyprint, sys; print(sys.executable)").CombinedOutput()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
		why += fmt.Sprintf("%v %s; ", err, out)
	}
	need.Lacking(t, "print HTML by weasyprint: %s", why)
	return ""
}

func TestWeasyprintLoadsNothingButPicturesOfTheDisk(t *testing.T) {
	onlyWeasyprint(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	for name, content := range map[string]string{"key": "secret words", "page.html": "<p>secret words", "notes.txt": "secret words",
		"tall.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="500" height="900"><rect width="500" height="900"/></svg>`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := printed(t, pdf.Document{HTML: true, Text: []byte("<p>one page")})
	with := printed(t, pdf.Document{HTML: true, Text: []byte("<p>one page<img src=tall.svg>"), Dir: dir})
	if !bytes.HasPrefix(plain, []byte("%PDF-")) || len(with) <= len(plain) {
		t.Errorf("%d bytes, with a picture %d", len(plain), len(with))
	}
	for _, page := range []string{
		"<link rel=attachment href='file://" + dir + "/key'>", "<a rel=attachment href=key>x</a>", "<link rel=attachment href=notes.txt>",
		"<object data=page.html></object><embed src=page.html><iframe src=page.html></iframe>",
		"<img src='" + server.URL + "/a.png'><link rel=stylesheet href='" + server.URL + "/b.css'><link rel=attachment href='" + server.URL + "/c'>",
	} {
		if b := printed(t, pdf.Document{HTML: true, Text: []byte(page), Dir: dir}); bytes.Contains(b, []byte("/EmbeddedFile")) || bytes.Contains(b, []byte("/Filespec")) {
			t.Errorf("%s: a file is attached", page)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the network was asked %d times", n)
	}
}
