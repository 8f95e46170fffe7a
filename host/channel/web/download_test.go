package web_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"mime"
	"net/url"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

func TestNothingInAFileCanRun(t *testing.T) {
	s := start(t, options(t.TempDir()))
	html := []byte("<!doctype html><script>alert(1)</script>")
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
	for _, c := range []struct {
		name, mime string
		kind       media.Kind
		body       []byte
		inline     bool
		served     string
	}{
		{"page.html", "text/html", media.Document, html, false, "application/octet-stream"},
		{"page.html", "text/html; charset=utf-8", media.Document, html, false, "application/octet-stream"},
		{"x.svg", "image/svg+xml", media.Document, svg, false, "application/octet-stream"},
		{"x.svg", "image/svg+xml", media.Image, svg, false, "application/octet-stream"},
		{"x.xhtml", "application/xhtml+xml", media.Document, html, false, "application/octet-stream"},
		{"x.pdf", "application/pdf", media.Document, []byte("%PDF-1.7"), false, "application/octet-stream"},
		{"x.js", "text/javascript", media.Document, []byte("alert(1)"), false, "application/octet-stream"},
		{"x.txt", "text/plain; charset=utf-8", media.Document, html, false, "text/plain"},
		{"liar.png", "image/png", media.Image, html, true, "image/png"}, // nosniff: a broken picture
		{"a.png", "image/png", media.Image, chart(t, 20, 10), true, "image/png"},
		{"a.png", "image/png", media.Document, chart(t, 20, 10), false, "image/png"},
		{"a.mp3", "audio/mpeg", media.Audio, []byte("ID3"), true, "audio/mpeg"},
		{"a.mp4", "video/mp4", media.Video, []byte("ftyp"), true, "video/mp4"},
		{"a.ogg", "audio/ogg; codecs=opus", media.Voice, []byte("OggS"), true, "audio/ogg"},
		{"x.bin", "\"><script>", media.Document, html, false, "\"><script>"},
	} {
		id := s.send(channel.Message{Files: outgoing(c.name, c.mime, c.kind, c.body)}).ID
		ms := s.history("?limit=1")
		if ms[0].ID != id || ms[0].File.Inline != c.inline {
			t.Errorf("%s (%s): inline is %v", c.name, c.mime, ms[0].File.Inline)
		}
		res, b := s.do("GET", ms[0].File.URL, nil)
		h := res.Header
		if !bytes.Equal(b, c.body) || h.Get("Content-Type") != c.served || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
			t.Errorf("%s (%s): %v", c.name, c.mime, h)
		}
		kind, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
		if want := map[bool]string{true: "inline", false: "attachment"}[c.inline]; err != nil || kind != want || params["filename"] != c.name {
			t.Errorf("%s (%s): disposition %q", c.name, c.mime, h.Get("Content-Disposition"))
		}
	}
}

func TestHostileFileNames(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	for _, name := range []string{
		"../../../../etc/passwd", `..\..\boot.ini`, "a\r\nSet-Cookie: x=1.txt", `quote".txt`, "<img src=x onerror=alert(1)>.png",
		"\u202egpj.exe", "?query#fragment.txt", "100%.txt", "名前.txt", strings.Repeat("x", 300) + ".txt",
	} {
		ms := s.posted(s.upload(nil, attachment{name, large("x")}))
		f := ms[0].File
		res, b := s.do("GET", f.URL, nil)
		if res.StatusCode != 200 || string(b) != string(large("x")) || res.Header.Get("Set-Cookie") != "" {
			t.Errorf("%q, now %q: %d %v", name, f.Name, res.StatusCode, res.Header)
		}
		if strings.ContainsAny(f.Name, "/\\\r\n\u202e") {
			t.Errorf("%q became %q", name, f.Name)
		}
		if u, err := url.Parse(f.URL); err != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasPrefix(u.Path, "/files/") {
			t.Errorf("%q has the address %q", name, f.URL)
		}
		for _, stored := range stored(t, opts.Dir) {
			if len(stored) != 32 {
				t.Errorf("%q is stored as %q", name, stored)
			}
		}
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	s := start(t, options(t.TempDir()))
	good := s.fileURL()
	for _, path := range []string{"/files/none/a.txt", "/files/..%2f..%2fweb.db/a.txt", "/files/../web.db", strings.TrimSuffix(good, "a.txt") + "page.html"} {
		if res, b := s.do("GET", path, nil); res.StatusCode == 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, b)
		}
	}
}

func TestFilesComeInParts(t *testing.T) {
	s := start(t, options(t.TempDir()))
	body := bytes.Repeat([]byte("0123456789"), 100_000)
	s.send(channel.Message{Files: outgoing("a.mp4", "video/mp4", media.Video, body)})
	f := s.history("")[0].File
	res, b := s.do("GET", f.URL, nil, "Range", "bytes=500005-500009")
	if res.StatusCode != 206 || string(b) != "56789" || res.Header.Get("Content-Range") != "bytes 500005-500009/1000000" {
		t.Errorf("%d %q %s", res.StatusCode, b, res.Header.Get("Content-Range"))
	}
	if res, _ := s.do("GET", f.URL, nil, "Range", "bytes=2000000-"); res.StatusCode != 416 {
		t.Errorf("behind the end: %d", res.StatusCode)
	}
	if res, _ := s.do("GET", f.URL, nil, "If-None-Match", `"`+f.SHA256+`"`); res.StatusCode != 304 {
		t.Errorf("unchanged: %d", res.StatusCode)
	}
}

// chart draws a picture worth looking at.
func chart(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		h := float64(height) * (0.55 + 0.25*math.Sin(float64(x)/70) + 0.12*math.Sin(float64(x)/23))
		for y := range height {
			c := color.RGBA{244, 248, 248, 255}
			if y%60 == 0 {
				c = color.RGBA{214, 224, 226, 255}
			}
			if float64(y) > h {
				c = color.RGBA{uint8(20 + y*60/height), 120, uint8(125 + y*60/height), 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
