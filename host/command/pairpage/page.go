// Package pairpage shows the QR code of a pairing in a browser, beside the terminal.
package pairpage

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"rsc.io/qr"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

//go:embed pair.html
var pairText string

// Page shows the QR code of a pairing, on loopback or where the operator says, under an
// address that nobody guesses: whoever sees the code can take the place of this host.
type Page struct {
	URL string
	srv *http.Server

	mu      sync.Mutex
	image   string // of the code, as a data: URL; empty before the first
	until   time.Time
	asked   time.Time // when the page last asked; zero: nobody has opened it
	paired  bool
	sawDone chan struct{} // closed when the page has seen the end
}

// Open serves at the address listen until close.
func Open(a channel.Account, listen string) (*Page, error) {
	page, err := httpd.Fill(pairText, httpd.Values{"pair": a.Pair, "scan": a.Scan})
	if err != nil {
		return nil, fmt.Errorf("make pairing page: %w", err)
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("serve pairing page: %w", err)
	}
	secret := "/" + rand.Text() + "/"
	p := &Page{URL: "http://" + ln.Addr().String() + secret, sawDone: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+secret+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		io.WriteString(w, page) //nolint:errcheck // the browser went away
	})
	mux.HandleFunc("GET "+secret+"code", p.code)
	p.srv = &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := p.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			ln.Close()
		}
	}()
	return p, nil
}

// Show replaces the code on the page.
func (p *Page) Show(code string, valid time.Duration) {
	c, err := qr.Encode(code, qr.L)
	if err != nil {
		return // the terminal shows it, or the phone's code is left
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
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // the browser went away
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

// The page asks twice a second, a slow browser less often.
const (
	pageOpen = 10 * time.Second // after its last question
	pageWait = 10 * time.Second // for one more
)

// Done says on the page that the account is linked: it waits until a page that
// is open has asked.
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

// Close stops serving. An answer that is being written is written to its end: it
// may be the one that says the account is linked.
func (p *Page) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), pageWait)
	defer cancel()
	if p.srv.Shutdown(ctx) != nil {
		p.srv.Close()
	}
}
