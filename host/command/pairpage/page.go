// Package pairpage shows the QR code of a pairing in a browser, beside the terminal.
package pairpage

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"rsc.io/qr"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/httpd"
)

//go:embed pair.html
var pairText string

const csp = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"

// Page is a web page with the QR code. Its path is a random secret, because anybody who scans the
// code links the account to another program.
type Page struct {
	URL     string
	srv     *httpd.Server
	running *httpd.Running

	mu      sync.Mutex
	image   string // of the code, as a data: URL; empty before the first
	until   time.Time
	asked   time.Time // when a browser last asked for the code; zero: never
	paired  bool
	sawDone chan struct{} // closed when a browser has heard that the account is linked
}

// Open serves the page at the address listen. The page owns the listener and its goroutine until
// Close.
func Open(a channel.Account, listen string) (*Page, error) {
	page, err := httpd.Fill(pairText, httpd.Values{"pair": a.Pair, "scan": a.Scan})
	if err != nil {
		return nil, fmt.Errorf("make pairing page: %w", err)
	}
	ln, err := httpd.Listen(listen)
	if err != nil {
		return nil, fmt.Errorf("serve pairing page: %w", err)
	}
	secret := "/" + rand.Text() + "/"
	p := &Page{URL: "http://" + ln.Addr().String() + secret, sawDone: make(chan struct{})}
	mux := &httpd.Mux{}
	mux.HandleFunc("GET "+secret+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page) //nolint:errcheck // the browser went away
	})
	mux.HandleFunc("GET "+secret+"code", p.code)
	guard := httpd.NewGuard(ln.Addr(), "open it by the address that this command printed", listen)
	guard.Policy, guard.Pages = csp, []string{secret}
	p.srv = &httpd.Server{Handler: guard.Wrap(mux), Grace: pageWait}
	p.running = p.srv.Start(context.Background(), ln)
	return p, nil
}

// Show replaces the code on the page; it is valid for that long.
func (p *Page) Show(code string, valid time.Duration) {
	c, err := qr.Encode(code, qr.L)
	if err != nil {
		return // the operator still has the terminal, or the code to type
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.image = "data:image/png;base64," + base64.StdEncoding.EncodeToString(c.PNG())
	p.until = time.Now().Add(valid)
}

// code answers the page's request for the current code.
func (p *Page) code(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Now()
	httpd.Answer(w, http.StatusOK, map[string]any{
		"image": p.image, "seconds": max(0, int(time.Until(p.until).Seconds())), "paired": p.paired,
	})
	if p.paired {
		select {
		case <-p.sawDone:
		default:
			close(p.sawDone)
		}
	}
}

// The page asks for the code twice a second; a slow browser asks less often.
const (
	pageOpen = 10 * time.Second // a browser that asked within this time still shows the page
	pageWait = 10 * time.Second // how long Done and Close wait for that browser
)

// Done shows on the page that the account is linked. If a browser has the page open, Done waits until
// that browser has heard so.
func (p *Page) Done() {
	p.mu.Lock()
	p.paired = true
	open := time.Since(p.asked) < pageOpen
	p.mu.Unlock()
	if !open {
		return
	}
	select {
	case <-p.sawDone:
	case <-time.After(pageWait):
	}
}

// Close stops serving, after the answers that are being written: one of them may say that the account
// is linked.
func (p *Page) Close() { p.running.Close() }
