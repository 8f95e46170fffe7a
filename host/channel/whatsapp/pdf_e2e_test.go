//go:build e2e

package whatsapp_test

import (
	"bytes"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
)

// pdftoppm is part of poppler-utils.
func TestAPDFShowsItsFirstPageWhereAToolCanDrawIt(t *testing.T) {
	for _, tool := range []string{"pdftoppm", "pdfinfo"} {
		if out, err := exec.CommandContext(t.Context(), tool, "-v").CombinedOutput(); err != nil {
			need.Lacking(t, "draw a PDF: %s: %v: %s", tool, err, out)
		}
	}
	path := filepath.Join(t.TempDir(), "a.pdf")
	data := []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>endobj\ntrailer<</Root 1 0 R>>\n")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *whatsapp.Options) { o.Tools = confine.Confined }).run()
	m := file(family, media.Info{Name: "a.pdf", Kind: media.Document, MIME: "application/pdf"}, data)
	m.Files[0].Content = openPath(path)
	w.send(m)
	d := w.seen(family, 1)[0].Message.GetDocumentMessage()
	c, err := jpeg.DecodeConfig(bytes.NewReader(d.GetJPEGThumbnail()))
	if err != nil || c.Height != 200 || d.GetPageCount() != 1 {
		t.Errorf("thumbnail of %d x %d, %v, %d pages; want 200 high and 1 page", c.Width, c.Height, err, d.GetPageCount())
	}
}
