package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sender is who asks the page.
type sender struct {
	token  string // of the page; empty: it has none
	header func(t *testing.T, l *pipes) string
}

// senders are all whom the page lets in.
var senders = map[string]sender{
	"a cookie": {token, func(t *testing.T, l *pipes) string {
		res, body := exchange(t, l, "POST /login", "Content-Type: application/x-www-form-urlencoded\r\n", url.Values{"token": {token}}.Encode())
		var out struct{ Key string }
		if err := json.Unmarshal(body, &out); err != nil || len(res.Cookies()) != 1 {
			t.Fatal(res.StatusCode, string(body), err)
		}
		return fmt.Sprintf("Cookie: %s\r\nX-Longshore-Key: %s\r\n", pair(res.Cookies()[0]), out.Key)
	}},
	"the token itself": {token, func(*testing.T, *pipes) string { return "Authorization: Bearer " + token + "\r\n" }},
	"no token":         {"", func(*testing.T, *pipes) string { return "" }},
	"a wrong token":    {token, func(*testing.T, *pipes) string { return "Authorization: Bearer x\r\n" }},
}

// address is a request line's of a route.
func address(pattern string) string {
	method, path, _ := strings.Cut(strings.NewReplacer("{$}", "", "{chat}", "family", "{id}", "x", "{name}", "x").Replace(pattern), " ")
	return method + " " + path
}

func begin(t *testing.T, l *pipes, line, header string, length int) net.Conn {
	t.Helper()
	c := l.dial(t)
	go fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n", line, header, length) //nolint:errcheck // the answer says it
	return c
}

func exchange(t *testing.T, l *pipes, line, header, body string) (*http.Response, []byte) {
	t.Helper()
	c := l.dial(t)
	go io.WriteString(c, fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", line, header, len(body), body)) //nolint:errcheck // the same
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(line, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(line, err)
	}
	return res, b
}

// TestEveryRouteOfThePageHasBounds asks each, by everybody who may and one who may not, with
// a body that is too large and with one that never comes: the first is refused, and the
// second ends.
func TestEveryRouteOfThePageHasBounds(t *testing.T) {
	const most, longest = 1 << 20, 40 * time.Second // of a body that is no file
	for name, by := range senders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := pipeSite(t, by.token)
				header := by.header(t, l)
				for _, pattern := range s.Routes() {
					line := address(pattern)
					if strings.HasPrefix(line, "GET ") {
						continue
					}
					for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=" + boundary} {
						header := header + "Content-Type: " + kind + "\r\n"
						c, start := begin(t, l, line, header, most), time.Now()
						_, err := io.Copy(io.Discard, c) // to its end
						if took := time.Since(start); err != nil || took > longest {
							t.Errorf("%s, %s: a body that never comes takes %v, %v", line, kind, took, err)
						}
						c = begin(t, l, line, header, most)
						sent := make(chan int64)
						go func() {
							time.Sleep(time.Second) // behind the header
							n, _ := io.Copy(c, io.LimitReader(zeros{}, most))
							sent <- n
						}()
						res, err := http.ReadResponse(bufio.NewReader(c), nil)
						if err != nil {
							t.Fatalf("%s, %s: %v", line, kind, err)
						}
						if res.StatusCode < 300 || res.StatusCode >= 500 {
							t.Errorf("%s, %s: a body of %d bytes is answered %s", line, kind, most, res.Status)
						}
						_, _ = io.Copy(io.Discard, res.Body)
						_ = c.Close()
						<-sent
					}
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
