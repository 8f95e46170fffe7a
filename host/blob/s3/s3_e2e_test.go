//go:build e2e

package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/blob/s3"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/s3test"
)

const mark = "00112233445566778899aabbccddeeff"

// keyIn writes a key's two files.
func keyIn(t *testing.T, dir, key, secret string) (keyFile, secretFile string) {
	t.Helper()
	keyFile, secretFile = filepath.Join(dir, "key"), filepath.Join(dir, "secret")
	if err := errors.Join(os.WriteFile(keyFile, []byte(key+"\n"), 0o600), os.WriteFile(secretFile, []byte(secret+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return keyFile, secretFile
}

func place(t *testing.T, address string) (*s3.Place, string) {
	t.Helper()
	dir := t.TempDir()
	key, secret := keyIn(t, dir, s3test.Key, s3test.Secret)
	p, err := s3.New(s3.Settings{Endpoint: "http://" + address, Region: "us-east-1", Bucket: s3test.Bucket, Prefix: "longshore/", KeyFile: key, SecretFile: secret})
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

// host opens the store of a host whose files lie in p.
func host(t *testing.T, p blob.Place) *blob.Store {
	t.Helper()
	s, err := blob.OpenShared(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// marked writes the mark, as the first host does.
func marked(t *testing.T, p blob.Place) {
	t.Helper()
	put(t, p, blob.Marker, mark)
}

func put(t *testing.T, p blob.Place, name, content string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), name, f, int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

func reached(t *testing.T, s *blob.Store) *blob.Store {
	t.Helper()
	if err := s.Reach(t.Context(), mark); err != nil {
		t.Fatal(err, s.Findings(t.Context()))
	}
	return s
}

// noise is n bytes that no memory holds.
func noise(n int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{1}), n)
}

func stage(t *testing.T, s *blob.Store, n int64) blob.Blob {
	t.Helper()
	b, err := s.Stage(t.Context(), noise(n), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(s *blob.Store, b blob.Blob) (n int64, err error) {
	f, err := s.Open(context.Background(), b.Name, b.SHA256, b.Size)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(io.Discard, f)
}

func TestAFileOf300MBTakesLittleMemory(t *testing.T) {
	server := s3test.Start(t)
	p, _ := place(t, server.Address)
	marked(t, p)
	const size = 300 << 20
	s := reached(t, host(t, p))
	b := stage(t, s, size)
	if err := s.Publish(t.Context(), b.Name); err != nil {
		t.Fatal(err, s.Findings(t.Context()))
	}
	fi, err := os.Stat(filepath.Join(server.Dir, s3test.Bucket, "longshore", b.Name))
	if err != nil || fi.Size() != size {
		t.Errorf("in the bucket: %v, %v", fi, err)
	}
	if n, err := read(reached(t, host(t, p)), b); n != size || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d MB of memory", m.Sys>>20)
	if m.Sys > 64<<20 {
		t.Errorf("%d bytes of memory", m.Sys)
	}
}

func TestABucketIsAPlace(t *testing.T) {
	p, keys := place(t, s3test.Start(t).Address)
	s := host(t, p)
	for range 2 {
		if err := errors.Join(s.Claim(t.Context(), mark), s.Reach(t.Context(), mark)); err != nil {
			t.Fatal(err)
		}
	}
	b := stage(t, s, 20_000)
	if err := s.Publish(t.Context(), b.Name); err != nil {
		t.Fatal(err)
	}
	src, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	second, err := s.Stage(t.Context(), src, 20_000, nil)
	if err == nil {
		err = s.Publish(t.Context(), second.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, "foreign.txt", "x")
	other := host(t, p)
	if err := other.Reach(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	names, foreign, err := other.List(t.Context())
	slices.Sort(names)
	want := []string{b.Name, second.Name}
	slices.Sort(want)
	if err != nil || foreign != 1 || !slices.Equal(names, want) {
		t.Errorf("listed %v and %d foreign ones, %v; want %v", names, foreign, err, want)
	}
	if err := other.Destroy(t.Context(), []string{b.Name, "not-there"}); err != nil {
		t.Error(err)
	}
	if _, err := read(other, b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted: %v", err)
	}
	if n, err := read(other, second); n != 20_000 || err != nil {
		t.Errorf("its copy: %d, %v", n, err)
	}
	if err := host(t, p).Claim(t.Context(), strings.Repeat("f", 32)); err == nil {
		t.Error("a bucket with files was taken")
	}
	keyIn(t, keys, s3test.Key, "another")
	if err := other.Reach(t.Context(), mark); err == nil {
		t.Error("reached with a wrong key")
	}
	all := other.Findings(t.Context())
	if len(all) != 1 || all[0].Name != finding.FilesAway || !strings.Contains(all[0].Cause, "refuses the key") || strings.Contains(all[0].Cause, "another") {
		t.Errorf("a wrong key: %v", all)
	}
	keyIn(t, keys, s3test.Key, s3test.Secret) // no restart is needed
	if err := other.Reach(t.Context(), mark); err != nil || len(other.Findings(t.Context())) > 0 {
		t.Errorf("%v, %v", err, other.Findings(t.Context()))
	}
}

// proxy stands between host and service, and does what fault says.
type proxy struct {
	*httputil.ReverseProxy
	address string
	fault   atomic.Pointer[string]
	stuck   chan struct{} // closed at the end
	arrived chan struct{} // has one of each request that is late
}

func (p *proxy) set(fault string) { p.fault.Store(&fault) }

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: to}
	p := &proxy{stuck: make(chan struct{}), arrived: make(chan struct{}, 100)}
	p.set("")
	p.ReverseProxy = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: p.answer,
		ErrorLog:       nil,
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	srv := &http.Server{Handler: p}
	go srv.Serve(l)
	t.Cleanup(func() { close(p.stuck); srv.Close() })
	return p
}

// ServeHTTP does what befalls a request.
func (p *proxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	fault := *p.fault.Load()
	if code, err := strconv.Atoi(fault); err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(code)
		return
	}
	switch fault {
	case "late":
		p.arrived <- struct{}{}
		<-p.stuck
		return
	case "flipped on the way up":
		if r.Method == http.MethodPut {
			r.Body = struct {
				io.Reader
				io.Closer
			}{&flipping{r.Body, 5000}, r.Body}
		}
	}
	p.ReverseProxy.ServeHTTP(rw, r)
}

// answer does what befalls an answer with a file.
func (p *proxy) answer(res *http.Response) error {
	if res.Request.Method != http.MethodGet || res.ContentLength < 20_000 {
		return nil
	}
	switch *p.fault.Load() {
	case "flipped on the way down":
		res.Body = struct {
			io.Reader
			io.Closer
		}{&flipping{res.Body, res.ContentLength - 1}, res.Body}
	case "cut":
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(res.Body, 10_000), broken{}), res.Body}
	}
	return nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut") }

// flipping flips one bit.
type flipping struct {
	r  io.Reader
	at int64
}

func (f *flipping) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if f.at >= 0 && f.at < int64(n) {
		p[f.at] ^= 1
	}
	f.at -= int64(n)
	return n, err
}

func TestFaultsOfTheServiceAreTroubleAndNeverWrongBytes(t *testing.T) {
	server := s3test.Start(t)
	between := newProxy(t, server.Address)
	direct, _ := place(t, server.Address)
	marked(t, direct)
	p, _ := place(t, between.address)
	whole := reached(t, host(t, direct))
	const size = 40_000
	b := stage(t, whole, size)
	if err := whole.Publish(t.Context(), b.Name); err != nil {
		t.Fatal(err)
	}
	for fault, tt := range map[string]struct{ up, down, finding, words string }{
		"503":                     {"fails", "fails", finding.FilesUnread, "503"},
		"403":                     {"fails", "fails", finding.FilesUnread, "refuses the key"},
		"507":                     {"fails", "fails", finding.FilesUnwritten, "is full"},
		"cut":                     {"", "fails", finding.FilesUnread, "cannot be used"},
		"late":                    {"cancelled", "cancelled", "", ""},
		"flipped on the way up":   {"fails", "", finding.FilesUnwritten, ""},
		"flipped on the way down": {"", "fails", finding.FilesDamaged, b.Name},
	} {
		t.Run(fault, func(t *testing.T) {
			between.set("")
			s := reached(t, host(t, p))
			mine := stage(t, s, size)
			between.set(fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-between.arrived:
					cancel()
				case <-ctx.Done():
				}
			}()
			up := s.Publish(ctx, mine.Name)
			f, down := s.Open(ctx, b.Name, b.SHA256, b.Size)
			if down == nil {
				f.Close()
			}
			for what, got := range map[string]struct {
				err  error
				want string
			}{"put": {up, tt.up}, "get": {down, tt.down}} {
				_, trouble := errors.AsType[*blob.Trouble](got.err)
				if (got.err != nil) != (got.want != "") || trouble != (got.want == "fails") {
					t.Errorf("%s: %v", what, got.err)
				}
			}
			all := s.Findings(t.Context())
			if at := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Name == tt.finding }); tt.finding != "" && (at < 0 || !strings.Contains(all[at].Cause, tt.words) || all[at].Remedy == "") {
				t.Errorf("found %v", all)
			}
			between.set("")
			reached(t, s)
			if err := s.Publish(t.Context(), mine.Name); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if n, err := read(s, b); n != size || err != nil {
				t.Errorf("afterwards: %d, %v", n, err)
			}
			if n, err := read(whole, mine); n != size || err != nil {
				t.Errorf("on another host: %d, %v", n, err)
			}
			if err := s.Reach(t.Context(), mark); err != nil || len(s.Findings(t.Context())) > 0 {
				t.Errorf("afterwards: %v, %v", err, s.Findings(t.Context()))
			}
		})
	}
}

// A service that ends in the middle of an upload leaves nothing that a host takes for the file.
func TestAServiceThatEndsAndComesBack(t *testing.T) {
	server := s3test.Start(t)
	p, _ := place(t, server.Address)
	marked(t, p)
	s := reached(t, host(t, p))
	b := stage(t, s, 40<<20)
	server.Stop()
	if err := s.Publish(t.Context(), b.Name); err == nil {
		t.Error("published without a service")
	}
	if err := s.Reach(t.Context(), mark); err == nil || len(s.Findings(t.Context())) != 2 {
		t.Errorf("%v, %v", err, s.Findings(t.Context()))
	}
	server.Restart()
	reached(t, s)
	if err := s.Publish(t.Context(), b.Name); err != nil {
		t.Fatal(err)
	}
	if n, err := read(reached(t, host(t, p)), b); n != 40<<20 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	var all bytes.Buffer
	if err := p.Get(t.Context(), blob.Marker, &all); err != nil || all.String() != mark {
		t.Errorf("%q, %v", all.String(), err)
	}
}

// An upload of an owner that died is not whole: the next owner lists it, and deletes it later.
func TestAnUploadThatDiedIsListedAndDeleted(t *testing.T) {
	server := s3test.Start(t)
	between := newProxy(t, server.Address)
	direct, _ := place(t, server.Address)
	marked(t, direct)
	p, _ := place(t, between.address)
	s := reached(t, host(t, p))
	b := stage(t, s, 40<<20)
	ctx, cancel := context.WithCancel(t.Context())
	between.ModifyResponse = func(res *http.Response) error {
		if res.Request.Method == http.MethodPut {
			between.set("503") // after its first part; nor does its abort come through
			cancel()
		}
		return nil
	}
	if err := s.Publish(ctx, b.Name); err == nil {
		t.Fatal("published")
	}
	next := reached(t, host(t, direct))
	names, _, err := next.List(t.Context())
	if err != nil || !slices.Equal(names, []string{b.Name + ".part"}) {
		t.Fatalf("listed %v, %v", names, err)
	}
	if err := next.Destroy(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	if names, _, err := next.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("left %v, %v", names, err)
	}
}
