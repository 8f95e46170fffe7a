package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// needTools skips the test unless the tools of this machine work, confined and not.
func needTools(t *testing.T) {
	t.Helper()
	if err := toolsWork(); err != nil {
		need.Lacking(t, "read films and pages by tools: %v", err)
	}
}

var toolsWork = sync.OnceValue(func() error { // asked once for all tests
	for _, args := range [][]string{{"ffmpeg", "-version"}, {"ffprobe", "-version"}, {"pdfinfo", "-v"}, {"pdftoppm", "-v"}} {
		if _, err := (confine.Runner{Mode: confine.Confined}).Run(context.Background(), confine.Command{Program: args[0], Args: args[1:], Time: time.Minute}); err != nil {
			return err
		}
	}
	out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=32x32", "-pix_fmt", "yuv420p", "-f", "mp4", "-y", "/dev/null").CombinedOutput()
	if err != nil {
		return fmt.Errorf("make a film: %w: %s", err, out)
	}
	return nil
})

// confinedTools are as a host has them.
func confinedTools(t *testing.T) tools {
	dir := t.TempDir()
	c := patient(confine.Confined)
	c.temp = func(int64) (*os.File, func(), error) {
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return nil, nil, err
		}
		return f, func() {}, os.Remove(f.Name())
	}
	return c
}

// private is a file that only the host's user can open.
func private(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// film is what ffmpeg makes of a test picture; args come before its name.
func film(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error", "-f", "lavfi"}, args...), path)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a film: %v\n%s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const onePage = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n" +
	"4 0 obj<</Length 40>>stream\nBT /F 40 Tf 20 100 Td (Longshore) Tj ET \nendstream endobj\ntrailer<</Root 1 0 R>>\n"

// The real tools do all their work behind the walls.
func TestConfinedToolsStillKnowFilmsAndPages(t *testing.T) {
	needTools(t)
	tools := confinedTools(t)
	mp4 := private(t, film(t, "a.mp4", "-i", "testsrc=duration=2:size=320x200", "-pix_fmt", "yuv420p"))
	c, err := jpeg.DecodeConfig(bytes.NewReader(tools.frame(t.Context(), mp4)))
	if err != nil || c.Width != 100 || c.Height > 64 {
		t.Errorf("the film's picture is %d x %d, %v", c.Width, c.Height, err)
	}
	if got := tools.seconds(t.Context(), private(t, film(t, "a.flac", "-i", "sine=duration=3"))); got != 3 {
		t.Errorf("a sound of 3 s has %d", got)
	}
	pdf := private(t, []byte(onePage))
	if got := tools.pages(t.Context(), pdf); got != 1 {
		t.Errorf("a page is %d pages", got)
	}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(tools.firstPage(t.Context(), pdf))); err != nil || c.Height != 200 {
		t.Errorf("the first page is %d x %d, %v", c.Width, c.Height, err)
	}
}

// The picture of a film stands as the film does.
func TestATurnedFilmsPictureIsUpright(t *testing.T) {
	needTools(t)
	b := film(t, "a.mp4", "-i", "testsrc=duration=1:size=320x200", "-pix_fmt", "yuv420p")
	at := bytes.Index(b, []byte("tkhd")) + 4 + 40 // behind the name, and before the matrix
	copy(b[at:], probetest.Matrix(90))
	binary.BigEndian.PutUint32(b[at+24:], 200<<16) // and moved back into view
	if m := readMP4(bytes.NewReader(b)); m.width != 200 || m.height != 320 {
		t.Errorf("the film is %d x %d", m.width, m.height)
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(confinedTools(t).frame(t.Context(), private(t, b))))
	if err != nil || c.Height != 100 || c.Width > 64 {
		t.Errorf("its picture is %d x %d, %v", c.Width, c.Height, err)
	}
}

// A playlist that names another file is not followed, whatever ffmpeg believes:
// neither is the file there, nor a network.
func TestAFileThatNamesAnotherShowsNothingOfIt(t *testing.T) {
	needTools(t)
	secret := private(t, film(t, "secret.mp4", "-i", "testsrc=duration=7:size=320x200", "-pix_fmt", "yuv420p")).Name()
	list := private(t, []byte("ffconcat version 1.0\nfile "+secret+"\n"))
	args := []string{"-v", "error", "-protocol_whitelist", "file,pipe,fd", "-safe", "0", "-f", "concat", "-show_entries", "stream=width", "-of", "default=nw=1:nk=1", "/dev/stdin"}
	if got := confinedTools(t).run(t.Context(), list, "ffprobe", args...); len(bytes.TrimSpace(got)) != 0 {
		t.Errorf("ffprobe says %q of a file that it was not given", got)
	}
	if got := patient(confine.Unconfined).run(t.Context(), list, "ffprobe", args...); string(bytes.TrimSpace(got)) != "320" {
		t.Errorf("without walls ffprobe says %q, and so this proves nothing", got)
	}
}
