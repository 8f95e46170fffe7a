package media_test

import (
	"mime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/longshore-bridge/longshore/media"
)

func FuzzClassify(f *testing.F) {
	for name, head := range samples(f) {
		f.Add("a."+name, "", head, "auto")
		f.Add("a.png", "image/png", head, "sticker")
		f.Add("a.html", "audio/ogg", head, "voice")
	}
	shown := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	f.Fuzz(func(t *testing.T, name, claimed string, head []byte, as string) {
		info, err := media.Classify(name, claimed, head, int64(len(head)), media.Style(as))
		if err != nil {
			if info != (media.Info{}) {
				t.Errorf("refused, and still %+v", info)
			}
			return
		}
		if m, params, err := mime.ParseMediaType(info.MIME); err != nil || m != info.MIME || len(params) > 0 {
			t.Errorf("MIME type %q", info.MIME)
		}
		if !slices.Contains(media.Kinds(), info.Kind) {
			t.Errorf("kind %q", info.Kind)
		}
		if (info.Kind == media.Image || info.Kind == media.Sticker) && !slices.Contains(shown, info.MIME) {
			t.Errorf("%s as %s", info.MIME, info.Kind)
		}
		if info.Kind == media.Image && media.KindByName(info.Name) == media.Document && media.MIMEByName(info.Name) == "text/html" {
			t.Errorf("%q is shown as an image", info.Name)
		}
		if info.Note != media.Printable(info.Note) {
			t.Errorf("note %q", info.Note)
		}
		wantSafe(t, info.Name)
	})
}

func FuzzSafeName(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.in)
	}
	f.Add("e" + strings.Repeat("\u0301\u0316", 100) + ".txt") // more marks than one character may have
	f.Add(strings.Repeat("\u0301", 300))
	f.Fuzz(func(t *testing.T, name string) {
		safe := media.SafeName(name)
		wantSafe(t, safe)
		if again := media.SafeName(safe); again != safe {
			t.Errorf("SafeName(%q) = %q, and of that %q", name, safe, again)
		}
	})
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xffc")
	f.Fuzz(func(t *testing.T, s string) {
		p := media.Printable(s)
		for _, r := range p {
			if !unicode.IsPrint(r) {
				t.Errorf("%q holds %U", p, r)
			}
		}
		if !utf8.ValidString(p) || media.Printable(p) != p {
			t.Errorf("%q of %q", p, s)
		}
	})
}

// wantSafe holds a name against everything that SafeName promises.
func wantSafe(t *testing.T, name string) {
	t.Helper()
	switch {
	case name == "", len(name) > 200:
		t.Errorf("%q has %d bytes", name, len(name))
	case !utf8.ValidString(name), !norm.NFC.IsNormalString(name):
		t.Errorf("%q is not UTF-8 in NFC", name)
	case strings.ContainsAny(name, `<>:"/\|?*`):
		t.Errorf("%q holds what Windows refuses", name)
	case strings.HasPrefix(name, "."), strings.HasPrefix(name, " "), strings.HasSuffix(name, "."), strings.HasSuffix(name, " "):
		t.Errorf("%q begins or ends badly", name)
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' {
			t.Errorf("%q holds %U", name, r)
		}
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "COM1", "COM0", "LPT9", "COM²", "CONIN$"}, strings.TrimSpace(stem)) {
		t.Errorf("%q is a device", name)
	}
}
