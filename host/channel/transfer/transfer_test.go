package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a network of a test: names with addresses, and one server behind all.
type world struct {
	t     *testing.T
	srv   *httptest.Server
	names map[string][]string // addresses; a name that is missing has 157.240.0.1

	mu     sync.Mutex
	dials  []string
	looked []string
}

func newWorld(t *testing.T, handler http.HandlerFunc) *world {
	w := &world{t: t, srv: httptest.NewServer(handler), names: map[string][]string{}}
	t.Cleanup(w.srv.Close)
	return w
}

func (w *world) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, host)
	var addrs []netip.Addr
	for _, a := range append([]string{}, w.names[host]...) {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	if w.names[host] == nil {
		addrs = append(addrs, netip.MustParseAddr("157.240.0.1"))
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, address)
	w.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, network, w.srv.Listener.Addr().String())
}

// network is a Network that consists of functions; the first may be nil.
type network struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	proxy  func(*http.Request) (*url.URL, error)
}

func (n network) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if n.lookup == nil {
		return []netip.Addr{netip.MustParseAddr("157.240.0.1")}, nil
	}
	return n.lookup(ctx, network, host)
}

func (n network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.dial(ctx, network, address)
}

func (n network) Proxy(req *http.Request) (*url.URL, error) { return n.proxy(req) }

// overTLS is a network whose connections need no TLS of net/http's.
type overTLS struct{ network }

func (n overTLS) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.dial(ctx, network, address)
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func (w *world) client(o transfer.Options) *http.Client {
	w.t.Helper()
	if o.Network == nil {
		o.Network = overTLS{network{w.lookup, w.dial, noProxy}}
	}
	c, err := transfer.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(c *http.Client, url string) (string, error) {
	res, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestOnlyThePlatformsHostsAreReached(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "bytes") })
	c := w.client(transfer.Options{Hosts: []string{"files.slack.com", ".whatsapp.net"}})
	for _, good := range []string{
		"https://files.slack.com/a", "https://FILES.slack.com:443/a", "https://mmg.whatsapp.net/v/x?ccb=1", "https://media-sof1-1.cdn.whatsapp.net/v/x",
	} {
		if body, err := get(c, good); err != nil || body != "bytes" {
			t.Errorf("%s: %q, %v", good, body, err)
		}
	}
	w.dials = nil
	for _, bad := range []string{
		"http://files.slack.com/a", "https://files.slack.com:8443/a", "https://slack.com/", "https://evil-files.slack.com/", "https://files.slack.com.evil.example/",
		"https://whatsapp.net/", "https://evilwhatsapp.net/", "https://.whatsapp.net/", "https://a..whatsapp.net/", "https://mmg.whatsapp.net./",
		"https://user@mmg.whatsapp.net/", "https://mmg.whatsapp.net@evil.example/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/",
		"https://2130706433/", "https://0x7f.1/", "https://mmg.whatsapp.net%2eevil.example/", "https://мmg.whatsapp.net/", "https:mmg.whatsapp.net", "ftp://mmg.whatsapp.net/",
		"https://a_b.whatsapp.net/", "https:///v/x",
	} {
		if body, err := get(c, bad); err == nil {
			t.Errorf("%s was fetched: %q", bad, body)
		}
	}
	if len(w.dials) > 0 {
		t.Errorf("%v were dialled", w.dials)
	}
}

func TestARedirectIsCheckedAsTheFirstAddress(t *testing.T) {
	for to, want := range map[string]bool{
		"https://b.whatsapp.net/end": true, "/end": true,
		"http://a.whatsapp.net/end": false, "https://127.0.0.1/end": false, "https://evil.example/end": false, "https://u:p@a.whatsapp.net/end": false,
	} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/end" {
				fmt.Fprint(w, "bytes")
				return
			}
			http.Redirect(w, r, to, http.StatusFound)
		})
		body, err := get(w.client(transfer.Options{Hosts: []string{".whatsapp.net"}}), "https://a.whatsapp.net/start")
		if (err == nil) != want || want != (body == "bytes") || !want && !errors.Is(err, transfer.ErrRefused) {
			t.Errorf("a redirect to %s: %q, %v", to, body, err)
		}
		if slices.ContainsFunc(w.dials, func(d string) bool { return d != "157.240.0.1:443" }) {
			t.Errorf("a redirect to %s: %v were dialled", to, w.dials)
		}
	}
}

func TestRedirectsWithoutEndAreNotFollowed(t *testing.T) {
	asked := 0
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, fmt.Sprintf("/%d", asked), http.StatusFound)
	})
	if _, err := get(w.client(transfer.Options{Hosts: []string{"a.example"}}), "https://a.example/"); !errors.Is(err, transfer.ErrRefused) {
		t.Errorf("%v", err)
	}
	if asked != 4 {
		t.Errorf("asked %d times, want the first and three redirects", asked)
	}
}

// A name of the platform's that leads to the host's own networks, because a
// resolver was poisoned or rebinds, reaches nothing.
func TestANameCannotLeadToAPrivateAddress(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "bytes") })
	c := w.client(transfer.Options{Hosts: []string{".example"}})
	for i, addr := range []string{
		"127.0.0.1", "::1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "fe80::1", "fd00:ec2::254",
		"0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "168.63.129.16", "fec0::1", "192.0.0.192", "2001:db8::1",
	} {
		name := fmt.Sprintf("n%d.example", i)
		w.names[name] = []string{addr}
		if _, err := get(c, "https://"+name+"/"); !errors.Is(err, transfer.ErrRefused) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if len(w.dials) > 0 {
		t.Errorf("%v were dialled", w.dials)
	}
	w.names["mixed.example"] = []string{"127.0.0.1", "64:ff9b::9df0:1", "10.0.0.1"}
	if _, err := get(c, "https://mixed.example/"); err != nil || !slices.Equal(w.dials, []string{"[64:ff9b::9df0:1]:443"}) {
		t.Errorf("%v were dialled: %v", w.dials, err)
	}
	w.looked = nil
	w.names["once.example"] = []string{"157.240.0.9"}
	if _, err := get(c, "https://once.example/"); err != nil || len(w.looked) != 1 || w.dials[1] != "157.240.0.9:443" {
		t.Errorf("looked up %v, dialled %v: %v", w.looked, w.dials, err)
	}
}

// What the operator wrote in the configuration is allowed, as exactly that.
func TestAnOperatorsAddressIsAllowedAsItIs(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "bytes") })
	c := w.client(transfer.Options{Hosts: []string{"api.telegram.org"}, Origins: []string{"http://localhost:8081"}})
	if body, err := get(c, "http://localhost:8081/file/x"); err != nil || body != "bytes" || !slices.Equal(w.dials, []string{"localhost:8081"}) {
		t.Errorf("%q, %v, dialled %v", body, err, w.dials)
	}
	for _, bad := range []string{
		"http://localhost:8082/", "https://localhost:8081/", "http://localhost/", "http://127.0.0.1:8081/", "http://u@localhost:8081/", "http://localhost.evil:8081/", "http://api.telegram.org/",
	} {
		if _, err := get(c, bad); !errors.Is(err, transfer.ErrRefused) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{"localhost:8081", "ftp://x", "http://u:p@x", "http://x/path", "http://", "http://x?y"} {
		if _, err := transfer.New(transfer.Options{Origins: []string{bad}}); err == nil {
			t.Errorf("%s was taken for an origin", bad)
		}
	}
}

// A proxy of the environment sees names alone, and none but allowed ones.
func TestAProxyOfTheEnvironmentWeakensNothing(t *testing.T) {
	var asked []string
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host)
		http.Error(w, "no", http.StatusForbidden)
	})
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://10.0.0.5:3128") }
	c := w.client(transfer.Options{Hosts: []string{".whatsapp.net"}, Network: network{w.lookup, w.dial, proxy}})
	_, _ = get(c, "https://mmg.whatsapp.net/v/x")
	for _, bad := range []string{"https://10.0.0.5:3128/", "http://10.0.0.5:3128/", "https://127.0.0.1/", "http://mmg.whatsapp.net/", "https://evil.example/"} {
		if _, err := get(c, bad); !errors.Is(err, transfer.ErrRefused) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if want := []string{"CONNECT mmg.whatsapp.net:443"}; !slices.Equal(asked, want) {
		t.Errorf("the proxy was asked %v, want %v", asked, want)
	}
	if !slices.Equal(w.dials, []string{"10.0.0.5:3128"}) || len(w.looked) > 0 {
		t.Errorf("dialled %v, looked up %v", w.dials, w.looked)
	}
}

func TestAHostMustProveItsName(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "bytes") }))
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	defer srv.Close()
	c, err := transfer.New(transfer.Options{
		Hosts: []string{"a.example"}, Network: network{proxy: noProxy, dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, srv.Listener.Addr().String())
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if _, err := get(c, "https://a.example/"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatDoesNotAnswerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []net.Conn
		dial := func(context.Context, string, string) (net.Conn, error) {
			mine, theirs := net.Pipe()
			ends = append(ends, theirs)
			go io.Copy(io.Discard, theirs)
			return mine, nil
		}
		c, err := transfer.New(transfer.Options{Hosts: []string{"a.example"}, Network: overTLS{network{dial: dial, proxy: noProxy}}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := get(c, "https://a.example/"); err == nil {
			t.Error("it answered")
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it was left after %s", took)
		}
		for _, e := range ends {
			e.Close()
		}
		c.CloseIdleConnections()
	})
}

func FuzzTheGuard(f *testing.F) {
	for _, s := range []string{"https://mmg.whatsapp.net/v/x", "https://a@b/", "https://[::1%25eth0]/", "https://mmg.whatsapp.net\\@evil/", "//x", "https://.whatsapp.net:443"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var dialled []string
		dial := func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, errors.New("no network")
		}
		var looked []string
		lookup := func(_ context.Context, _, host string) ([]netip.Addr, error) {
			looked = append(looked, host)
			return []netip.Addr{netip.MustParseAddr("157.240.0.1")}, nil
		}
		c, err := transfer.New(transfer.Options{Hosts: []string{".whatsapp.net"}, Network: overTLS{network{lookup, dial, noProxy}}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = get(c, raw)
		c.CloseIdleConnections()
		for _, d := range dialled {
			if d != "157.240.0.1:443" {
				t.Errorf("%q dialled %s", raw, d)
			}
		}
		for _, name := range looked {
			if !strings.HasSuffix(strings.ToLower(name), ".whatsapp.net") {
				t.Errorf("%q looked up %s", raw, name)
			}
		}
	})
}
