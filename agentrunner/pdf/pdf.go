// Package pdf makes a PDF of Markdown or HTML with programs that are installed where
// it runs: one that turns Markdown into HTML, and a browser or weasyprint.
//
// The document is an assistant's, and may hold what a website or a member wrote. So
// no script in it runs, and it loads nothing from the network, and of the disk only
// pictures, fonts and styles. The programs get a home of their own and a limited
// time.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The limits of one document.
const (
	MaxSource = 8 << 20  // bytes of Markdown or HTML
	MaxPDF    = 64 << 20 // bytes of the result
	Timeout   = 35 * time.Second
)

// Document is what to print.
type Document struct {
	Text []byte // UTF-8
	HTML bool   // Text is HTML, not Markdown
	Dir  string // where relative paths of pictures start; absolute, empty: nowhere
}

// Missing is the error if no program is installed that could do a step.
type Missing struct {
	Step     string   // what cannot be done, such as "print HTML"
	Programs []string // each of them could
}

func (m *Missing) Error() string {
	return "no program is installed here to " + m.Step
}

// ErrTooLarge means that the source or the result is over its limit, and ErrTimeout
// that printing took longer than Timeout.
var (
	ErrTooLarge = errors.New("the document is too large")
	ErrTimeout  = errors.New("printing took too long")
)

// Make prints a document to a new file in dir and returns the file's path. It also
// keeps temporary files in dir, which should be empty, absolute, and the caller's to
// remove. Errors are *Missing, ErrTooLarge and ErrTimeout, which are permanent, or
// hold the program's own words.
func Make(ctx context.Context, d Document, dir string) (string, error) {
	return makeWithin(ctx, d, dir, Timeout)
}

func makeWithin(ctx context.Context, d Document, dir string, limit time.Duration) (string, error) {
	if len(d.Text) > MaxSource {
		return "", ErrTooLarge
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	if !canPrint() {
		return "", &Missing{Step: "print HTML", Programs: append(browsers(), "weasyprint")}
	}
	temp, err := shortDir(dir)
	if err != nil {
		return "", fmt.Errorf("make temporary directory: %w", err)
	}
	if temp != dir {
		defer os.RemoveAll(temp)
	}
	at := place{dir: dir, temp: temp}
	body := d.Text
	if !d.HTML {
		if body, err = at.toHTML(ctx, body); err != nil {
			return "", err
		}
	}
	page, out := filepath.Join(dir, "page.html"), filepath.Join(dir, "out.pdf")
	if err := os.WriteFile(page, wrap(body, d), 0o600); err != nil {
		return "", fmt.Errorf("write page: %w", err)
	}
	words, err := at.run(ctx, nil, printer(dir, out, page)...)
	if err != nil {
		return "", err
	}
	return out, checkPDF(out, words)
}

// maxSocketDir is how long the path of a directory may be, in bytes, in which Chromium
// makes a socket: longer ones make it abort. A socket's path has 107 bytes.
const maxSocketDir = 50

// shortDir returns dir, or a new directory with a short path if dir's is too long.
func shortDir(dir string) (string, error) {
	if len(dir) <= maxSocketDir {
		return dir, nil
	}
	return os.MkdirTemp("/tmp", "pdf-")
}

func canPrint() bool { return installed(append(browsers(), "weasyprint")...) != "" }

// printer returns the command that prints page to out.
func printer(dir, out, page string) []string {
	if browser := installed(browsers()...); browser != "" {
		return append([]string{browser}, browserFlags(dir, out, page)...)
	}
	return []string{"python3", "-I", "-c", weasyprint, page, out} // -I: no modules from the working directory
}

// weasyprint prints by the package of that name, which knows no scripts. Its command
// would also fetch from the network, and attach any file that a page names.
const weasyprint = `
import sys
from weasyprint import HTML, default_url_fetcher

def fetch(url, *args, **kwargs):
    if not url.lower().startswith(("file:", "data:")):
        raise ValueError("nothing is loaded from the network")
    got = default_url_fetcher(url, *args, **kwargs)
    if not (got.get("mime_type") or "").startswith(("image/", "font/", "text/css")):
        if "file_obj" in got:
            got["file_obj"].close()
        raise ValueError("only pictures, fonts and styles are loaded")
    return got

with open(sys.argv[1], encoding="utf-8") as page:
    HTML(string=page.read(), base_url=None, url_fetcher=fetch).write_pdf(sys.argv[2])
`

// browsers are the names under which Chromium and its relatives are installed.
func browsers() []string {
	return []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome-headless-shell", "headless_shell", "chrome"}
}

// browserFlags print page to out. The proxy refuses everything, also what is on this
// machine. Chromium's own sandbox cannot start in most containers; the page's policy
// lets nothing run that it would have to confine.
func browserFlags(dir, out, page string) []string {
	return []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-sync", "--disable-component-update", "--disable-breakpad", "--mute-audio",
		"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--no-pdf-header-footer", "--print-to-pdf=" + out,
		(&url.URL{Scheme: "file", Path: page}).String()}
}

// installed returns the path of the first of these programs that is there, or "".
func installed(programs ...string) string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// policy allows styles, and pictures and fonts from the disk, and nothing else.
const policy = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; ` +
	`img-src file: data:; style-src 'unsafe-inline' file: data:; font-src file: data:; base-uri 'none'; form-action 'none'">`

// plain is the look of Markdown.
const plain = `<style>body{font:11pt/1.5 sans-serif}pre,code{font-family:monospace;font-size:.9em}pre{background:#f4f4f4;padding:.6em;white-space:pre-wrap}` +
	`table{border-collapse:collapse}th,td{border:1px solid #bbb;padding:.2em .6em}img{max-width:100%}blockquote{border-left:3px solid #bbb;margin-left:0;padding-left:1em}</style>`

// refresh matches what would make the browser print another page than this one.
var refresh = regexp.MustCompile(`(?i)http-equiv`)

// wrap puts the policy before the document, whose own doctype and head the browser
// then reads as part of this page.
func wrap(body []byte, d Document) []byte {
	var b bytes.Buffer
	if d.Dir != "" {
		base := url.URL{Scheme: "file", Path: strings.TrimRight(d.Dir, "/") + "/"}
		fmt.Fprintf(&b, `<base href="%s">`, strings.NewReplacer(`"`, "%22", "<", "%3C", "&", "&amp;").Replace(base.String()))
	}
	page := append([]byte(strings.Replace(policy, `<meta charset="utf-8">`, `<meta charset="utf-8">`+b.String(), 1)), '\n')
	if !d.HTML {
		page = append(page, plain...)
	}
	return append(page, refresh.ReplaceAll(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), []byte("data-equiv"))...)
}

// checkPDF returns an error with the program's words if it made no PDF.
func checkPDF(path string, words string) error {
	stat, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the program made no PDF: %s", words)
	}
	if stat.Size() > MaxPDF {
		return ErrTooLarge
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read PDF: %w", err)
	}
	defer f.Close()
	head := make([]byte, 5)
	if n, _ := f.Read(head); string(head[:n]) != "%PDF-" {
		return fmt.Errorf("the program made no PDF: %s", words)
	}
	return nil
}
