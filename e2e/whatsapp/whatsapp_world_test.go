package whatsapp

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
)

// scanned reads a QR code off a picture with a scanner of somebody else's.
func scanned(t *testing.T, picture []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "code.png")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zbarimg", "--quiet", "--raw", path).Output()
	if errors.Is(err, exec.ErrNotFound) {
		need.Lacking(t, "read a QR code: %v; install zbar-tools", err)
	}
	if err != nil {
		t.Fatalf("no code on the picture: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// photograph is the terminal's drawing of a code as a camera sees it: each
// character two blocks, one above the other, light on dark.
func photograph(t *testing.T, drawing []string) []byte {
	t.Helper()
	const block, margin = 6, 24
	width := 0
	for _, line := range drawing {
		width = max(width, len([]rune(line)))
	}
	img := image.NewGray(image.Rect(0, 0, width*block+2*margin, 2*len(drawing)*block+2*margin))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for y, line := range drawing {
		for x, r := range []rune(line) {
			for half, light := range [2]bool{r == '█' || r == '▀', r == '█' || r == '▄'} {
				if light {
					continue
				}
				for i := range block * block {
					img.SetGray(margin+x*block+i%block, margin+(2*y+half)*block+i/block, color.Gray{})
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
