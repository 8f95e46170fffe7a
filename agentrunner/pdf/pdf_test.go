package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/pdf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needBrowser skips the test if nothing here prints HTML.
func needBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	if os.Getenv("LONGSHORE_TEST_ALL") != "" {
		t.Fatal("there is no browser")
	}
	t.Skip("there is no browser")
}

// program puts a shell script into a new directory, which becomes the PATH before
// the usual one.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func printed(t *testing.T, d pdf.Document) []byte {
	t.Helper()
	path, err := pdf.Make(t.Context(), d, t.TempDir())
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
	if _, err := pdf.Make(t.Context(), pdf.Document{HTML: true, Text: []byte("<p>Hello")}, dir); err != nil {
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
	if testing.Short() {
		t.Skip("starts weasyprint")
	}
	dir := t.TempDir()
	for _, name := range []string{"weasyprint", "python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("there is no %s", name)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
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

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var missing *pdf.Missing
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: []byte("x")}, t.TempDir()); !errors.As(err, &missing) || missing.Step != "print HTML" || missing.Programs[0] != "chromium" {
		t.Errorf("no browser: %v", err)
	}
	program(t, "chromium", "exit 1")
	t.Setenv("PATH", strings.Split(os.Getenv("PATH"), ":")[0])
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: []byte("x")}, t.TempDir()); !errors.As(err, &missing) || missing.Step != "turn Markdown into HTML" {
		t.Errorf("no converter: %v", err)
	}
}

func TestProgramThatFailsIsQuoted(t *testing.T) {
	program(t, "chromium", "echo 'cannot open display' >&2; exit 7")
	if _, err := pdf.Make(t.Context(), pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot open display") {
		t.Errorf("exit status: %v", err)
	}
	program(t, "chromium", "echo 'done, nothing made' >&2")
	if _, err := pdf.Make(t.Context(), pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "made no PDF") {
		t.Errorf("no file: %v", err)
	}
}

func TestPrintingEndsWithItsCaller(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	program(t, "chromium", "sleep 600 & touch "+started+"; wait")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				cancel()
			}
		}
	}()
	if _, err := pdf.Make(ctx, pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDocumentThatIsTooLargeIsRefused(t *testing.T) {
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: make([]byte, pdf.MaxSource+1)}, t.TempDir()); !errors.Is(err, pdf.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}
