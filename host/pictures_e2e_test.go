//go:build e2e

package main

import (
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
)

// walkImages are the pictures of the walk: a name's extension, how ImageMagick makes it, its type,
// and what WhatsApp and the page do with it. A part alone is not converted.
var walkImages = []struct{ name, made, mime, whatsapp, page string }{
	{"plain.jpg", "rose:", "image/jpeg", "shown", "shown"},
	{"print.jpg", "rose: -colorspace CMYK", "image/jpeg", "shown", "shown"},
	{"grey.jpg", "rose: -colorspace Gray -interlace Plane", "image/jpeg", "shown", "shown"},
	{"deep.png", "rose: -depth 16 -define png:bit-depth=16", "image/png", "shown", "shown"},
	{"few.png", "rose: -colors 2 -type Palette", "image/png", "shown", "shown"},
	{"scan.tiff", "rose:", "image/tiff", "converted", "converted"},
	{"print.tif", "rose: -colorspace CMYK -compress LZW", "image/tiff", "converted", "converted"},
	{"pages.tiff", "rose: rose:", "image/tiff", "part", "part"},
	{"old.bmp", "rose:", "image/bmp", "converted", "converted"},
	{"lossless.webp", "rose: -define webp:lossless=true", "image/webp", "converted", "shown"},
	{"moves.webp", "-delay 10 rose: ( rose: -negate ) -loop 0", "image/webp", "part", "shown"},
	{"new.avif", "rose:", "image/avif", "converted", "converted"},
	{"phone.heic", "rose: -resize 128x128!", "image/heic", "converted", "converted"},
	{"site.ico", "rose: -resize 32x32!", "image/x-icon", "document", "document"},
	{"layers.psd", "rose:", "image/vnd.adobe.photoshop", "document", "document"},
	{"still.gif", "rose:", "image/gif", "converted", "shown"},
	{"moves.gif", "-delay 10 rose: ( rose: -negate ) -loop 0", "image/gif", "converted", "shown"},
}

// A chat shows a picture only if its apps do; another one is converted whole, or goes as a
// document that says why.
func TestEveryPictureIsShownOrConvertedWholeOrADocument(t *testing.T) {
	if out, err := exec.Command("convert", "-version").CombinedOutput(); err != nil || !strings.Contains(string(out), "ImageMagick") {
		need.Lacking(t, "make pictures by ImageMagick: %v", err)
	}
	dir := t.TempDir()
	temp := func(int64) (*os.File, func(), error) {
		f, err := os.CreateTemp(dir, "made")
		return f, func() {}, err
	}
	for _, w := range walkImages {
		path := filepath.Join(dir, w.name)
		if out, err := exec.Command("convert", append(strings.Fields(w.made), path)...).CombinedOutput(); err != nil {
			need.Lacking(t, "make %s by ImageMagick: %v: %s", w.name, err, out)
		}
		info := examined(t, path)
		how := ways(t, w.name, info)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for p, is := range how {
			if is == "converted" && convert.Partly(f, info.Size, info.MIME) {
				how[p] = "part"
			}
		}
		want := []string{w.mime, w.whatsapp, w.page}
		if diff := cmp.Diff(want, []string{info.MIME, how["whatsapp"], how["web"]}); diff != "" {
			t.Errorf("%s: %s", w.name, diff)
			continue
		}
		limits := platforms()[1].Settings().Limits()
		r, ok := convert.For(info, media.Auto, limits)
		if !ok || how["whatsapp"] != "converted" {
			continue
		}
		out, err := convert.New(confine.Unconfined, temp).Run(t.Context(), f, r, media.MiB)
		if err != nil {
			t.Errorf("%s: %v", w.name, err)
			continue
		}
		defer out.Close()
		if r.Kind != media.Image {
			continue
		}
		if shown, err := jpeg.Decode(out); err != nil || shown.Bounds().Dx() < 32 {
			t.Errorf("%s became no picture: %v", w.name, err)
		}
	}
}
