package transfer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// opened is a file that counts its open readers.
type opened struct {
	io.ReadSeeker
	n *int
}

func (o opened) Close() error { *o.n--; return nil }

func fileOf(name, content string, size int64, open *int) channel.File {
	sum := sha256.Sum256([]byte(content))
	return channel.File{Info: media.Info{Name: name, MIME: "text/plain", Size: size}, SHA256: hex.EncodeToString(sum[:]), Content: channeltest.Opens(func() (io.ReadSeekCloser, error) {
		*open++
		return opened{strings.NewReader(content), open}, nil
	})}
}

func platform(t *testing.T, h http.HandlerFunc) (c *http.Client, url string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := transfer.New(transfer.Options{Origins: []string{srv.URL}, Network: network{dial: (&net.Dialer{}).DialContext, proxy: noProxy}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c, srv.URL
}

func post(t *testing.T, c *http.Client, url string, b *transfer.Body) (string, error) {
	t.Helper()
	answer, err := transfer.Post(t.Context(), c, "the platform", url, http.Header{"X-Mine": {"kept"}}, b)
	return string(answer), err
}

func TestAFormIsReadAsItGoesOutAndItsLengthIsKnown(t *testing.T) {
	var got string
	c, url := platform(t, func(w http.ResponseWriter, r *http.Request) {
		if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || r.ContentLength <= 0 || r.Header.Get("X-Mine") != "kept" {
			t.Errorf("%v, length %d, %v", err, r.ContentLength, r.Header)
		} else {
			for form := multipart.NewReader(r.Body, params["boundary"]); ; {
				part, err := form.NextPart()
				if err != nil {
					break
				}
				content, _ := io.ReadAll(part)
				got += fmt.Sprintf("%s %q %s %s|", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), content)
			}
		}
		fmt.Fprint(w, "taken")
	})
	open, told := 0, int64(0)
	files := []channel.File{fileOf(`a "quoted".txt`, "first", 5, &open), fileOf("b.txt", "second", 6, &open)}
	b, err := transfer.Form(t.Context(), []transfer.Field{{Name: "message", Type: "application/json", Content: []byte("{}")}}, files, partName, func(n int64) { told = n })
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := post(t, c, url, b); err != nil || answer != "taken" || told != 11 || open != 0 {
		t.Errorf("answer %q, %v; %d bytes told, %d files open", answer, err, told, open)
	}
	if want := `message "" application/json {}|file0 "a \"quoted\".txt" text/plain first|file1 "b.txt" text/plain second|`; got != want {
		t.Errorf("the platform read\n%s, want\n%s", got, want)
	}
}

func TestAnAnswerHasTheClassThatHTTPGivesIt(t *testing.T) {
	c, url := platform(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		if status == http.StatusFound {
			w.Header().Set("Location", "/200")
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	})
	for status, want := range map[int]channel.Class{
		302: channel.Held, 307: channel.Held, 400: channel.Permanent, 401: channel.Held, 403: channel.Held, 404: channel.Permanent, 408: channel.Passing,
		410: channel.Permanent, 413: channel.Permanent, 422: channel.Permanent, 429: channel.Passing, 500: channel.Ambiguous, 502: channel.Ambiguous, 503: channel.Passing,
	} {
		_, err := post(t, c, fmt.Sprintf("%s/%d?token=hush", url, status), transfer.Plain("text/plain", []byte("hello")))
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != want || e.Code == "" || strings.Contains(err.Error(), "hush") {
			t.Errorf("%d: %v is %v, want %v", status, err, channel.ClassOf(err), want)
		}
		if wait := channel.RetryAfterOf(err); (wait == 7*time.Second) != (want == channel.Passing) {
			t.Errorf("%d: again after %v", status, wait)
		}
	}
}

func TestALostAnswerIsAmbiguousAndALostMessageIsNot(t *testing.T) {
	hang := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	c, url := platform(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		hang(w, r)
	})
	open := 0
	form := func(size int64, content string) *transfer.Body {
		b, err := transfer.Form(t.Context(), nil, []channel.File{fileOf("a", content, size, &open)}, partName, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, tt := range map[string]struct {
		body *transfer.Body
		url  string
		want channel.Class
	}{
		"the answer is lost":        {form(5, "whole"), url, channel.Ambiguous},
		"the file is shorter":       {form(50, "short"), url, channel.Passing},
		"the file is longer":        {form(2, "longer"), url, channel.Passing},
		"nobody is there":           {transfer.Plain("a/b", []byte("hi")), "http://127.0.0.1:1", channel.Passing},
		"the address is no address": {transfer.Plain("a/b", []byte("hi")), "http://a b", channel.Passing},
	} {
		if _, err := post(t, c, tt.url, tt.body); err == nil || channel.ClassOf(err) != tt.want {
			t.Errorf("%s: %v is %v, want %v", name, err, channel.ClassOf(err), tt.want)
		}
	}
	if open != 0 {
		t.Errorf("%d files are still open", open)
	}
}

// A form with a file whose bytes had changed on the host's disk was sent whole.
func TestAFormWithAChangedFileIsNeverWhole(t *testing.T) {
	whole := false
	c, url := platform(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		whole = err == nil
	})
	open := 0
	f := fileOf("a", "accepted", 8, &open)
	f.Content = fileOf("a", "excepted", 8, &open).Content
	b, err := transfer.Form(t.Context(), nil, []channel.File{f}, partName, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := post(t, c, url, b); channel.ClassOf(err) != channel.Permanent || whole {
		t.Errorf("sent whole: %v, %v", whole, err)
	}
}

func TestAnAnswerIsReadUpToABound(t *testing.T) {
	c, url := platform(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20)) })
	if answer, err := post(t, c, url, transfer.Plain("a/b", nil)); err != nil || len(answer) != 64<<10 {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
}

func TestAFileIsFetchedWithinItsBounds(t *testing.T) {
	c, url := platform(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/unannounced":
			_ = http.NewResponseController(w).Flush()
			fallthrough
		case "/file":
			fmt.Fprint(w, "12345678")
		case "/away":
			c := "http://169.254.169.254/latest/meta-data"
			http.Redirect(w, r, c, http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		default:
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	s, err := transfer.OpenScratch(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(ctx context.Context, address string, most int64) (string, error) {
		f, err := s.Get(ctx, c, address, most, transfer.Brisk)
		if err != nil {
			return "", err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		return string(b), err
	}
	for _, path := range []string{"/file", "/unannounced"} {
		if got, err := get(t.Context(), url+path, 8); got != "12345678" || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		if _, err := get(t.Context(), url+path, 7); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%s: a file that is too large: %v", path, err)
		}
	}
	for address, want := range map[string]channel.Class{
		url + "/away": channel.Permanent, url + "/gone": channel.Permanent, url + "/broken": channel.Passing, "file:///etc/passwd": channel.Permanent,
		"http://127.0.0.1:1/": channel.Permanent, "https://169.254.169.254/": channel.Permanent, "http://a b": channel.Permanent,
	} {
		if _, err := get(t.Context(), address, 8); err == nil || channel.ClassOf(err) != want {
			t.Errorf("%s: %v is %v, want %v", address, err, channel.ClassOf(err), want)
		}
	}
}

func partName(i int) string { return fmt.Sprint("file", i) }
