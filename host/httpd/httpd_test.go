package httpd

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOthersNeedAToken(t *testing.T) {
	for name, tt := range map[string]struct {
		address Address
		want    string // in the error; empty: none
	}{
		"this machine":                {Address{Listen: "127.0.0.1:0"}, ""},
		"others":                      {Address{Listen: "0.0.0.0:0"}, "no token"},
		"others, by an empty host":    {Address{Listen: ":0"}, "no token"},
		"others, with a token":        {Address{Listen: "0.0.0.0:0", Token: strings.Repeat("x", MinToken)}, ""},
		"a token that can be guessed": {Address{Listen: "127.0.0.1:0", Token: "secret"}, "at least 16"},
		"a proxy's name":              {Address{Listen: "127.0.0.1:0", Hosts: []string{"chat.example"}}, "set a token"},
		"no address":                  {Address{Listen: "here"}, "host:port"},
	} {
		l, err := tt.address.Open()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if l != nil {
			l.Close()
		}
	}
}

func TestTheGuardStopsOtherSites(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420}
	g := NewGuard(addr, "add the name", "chat.example")
	navigation := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	for name, tt := range map[string]struct {
		method, host string
		header       map[string]string
		opens        bool
		want         string // code; empty: it may go on
	}{
		"a program":                        {method: "POST", host: "127.0.0.1:8420"},
		"by a further name":                {method: "GET", host: "chat.example"},
		"by a rebound name":                {method: "GET", host: "evil.example:8420", want: "unknown_host"},
		"another site writes":              {method: "POST", host: "127.0.0.1:8420", header: map[string]string{"Origin": "https://evil.example"}, want: "cross_site"},
		"another site reads":               {method: "GET", host: "127.0.0.1:8420", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, opens: true, want: "cross_site"},
		"a link to a page":                 {method: "GET", host: "127.0.0.1:8420", header: navigation, opens: true},
		"a link to what is no page":        {method: "GET", host: "127.0.0.1:8420", header: navigation, want: "cross_site"},
		"another port of the same machine": {method: "GET", host: "127.0.0.1:8420", header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: "cross_site"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+tt.host+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range tt.header {
			r.Header.Set(k, v)
		}
		if g.Pages = nil; tt.opens {
			g.Pages = []string{"/", "/x"}
		}
		p, code := g.check(r), ""
		if p != nil {
			code = p.Code
		}
		if code != tt.want {
			t.Errorf("%s: %q, want %q", name, code, tt.want)
		}
	}
}

func TestServeEndsItsRequests(t *testing.T) {
	l, err := Address{Listen: "127.0.0.1:0"}.Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	h := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		cancel() // the end comes while a stream goes on
		<-over
		_, _ = rw.Write([]byte("last words"))
	})
	served := make(chan error, 1)
	go func() {
		served <- (&Server{Handler: h, Grace: 5 * time.Second, Ending: func() { close(over) }}).Serve(ctx, l)
	}()
	res, err := http.Get(URL(l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "last words" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := (&Server{Handler: h}).Serve(t.Context(), l); err == nil {
		t.Error("served on a listener that is closed")
	}
}

// TestASocketIsForTheHostsUserAlone, and one that was left behind is replaced.
func TestASocketIsForTheHostsUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	l, err := Listen(SocketPrefix + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := Listen(SocketPrefix + path); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Error(err)
	}
	_ = l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(SocketPrefix + path); err == nil {
		t.Error("a file was replaced")
	}
}
