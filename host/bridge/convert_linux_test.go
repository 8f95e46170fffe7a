package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
)

// narrow is a platform that shows few types.
func narrow(l *media.Limits) {
	l.Kinds[media.Image] = media.Limit{Bytes: media.MiB, MIME: []string{"image/jpeg", "image/png"}, Caption: 100}
	l.Kinds[media.Video] = media.Limit{Bytes: 16 * media.MiB, MIME: []string{"video/mp4"}}
	l.LargeAsDocument = true
}

var ffmpegWorks = sync.OnceValue(func() error { // asked once for all tests
	_, err := confine.Runner{Mode: confine.Confined}.Run(context.Background(), confine.Command{Program: "ffmpeg", Args: []string{"-version"}, Time: time.Minute})
	for _, args := range [][]string{{"-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "mp4"}, {"-vn", "-c:a", "libopus", "-f", "ogg"}, {"-vn", "-f", "mp3"}} {
		if err != nil {
			return err
		}
		args = slices.Concat([]string{"-v", "error"}, moment, []string{"-f", "lavfi", "-i", "sine=duration=1"}, args, []string{"-y", os.DevNull})
		var out []byte
		if out, err = exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
			err = fmt.Errorf("ffmpeg %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return err
})

// converting is a site whose bridge converts, by ffmpeg in that mode.
func converting(t *testing.T, mode confine.Mode) *site {
	t.Helper()
	if err := ffmpegWorks(); err != nil {
		need.Lacking(t, "convert files by ffmpeg: %v", err)
	}
	s := newSiteOf(t, narrow)
	s.opts.Channels[0] = s.memory
	s.opts.Convert = convert.New(mode, func(int64) (*os.File, func(), error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return f, func() {}, err
	})
	s.Bridge = bridge.New(s.opts)
	return s
}

// films has ffmpeg make a file in a group's workspace.
func (s *site) films(name string, args ...string) (path, content string) {
	s.t.Helper()
	at := filepath.Join(s.t.TempDir(), name)
	if out, err := exec.Command("ffmpeg", append(append([]string{"-v", "error"}, args...), at)...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(at)
	check(s.t, err)
	return s.write("family", name, string(data)), string(data)
}

var moment = []string{"-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=1"}

// kept is what the outbox has of a file that was sent.
func (s *site) kept(ref ipc.FileRef) records.File {
	s.t.Helper()
	d, err := s.SendFor(s.t.Context(), "family", ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{ref}}, s.Mounted("family"))
	check(s.t, err)
	return d.Parts[0].Files[0]
}

func TestAFilmThatTheChatDoesNotShowIsConvertedAndSaysSo(t *testing.T) {
	s := converting(t, confine.Confined)
	path, content := s.films("holiday.mov", moment...)
	f := s.kept(ipc.FileRef{Path: path})
	if seen := s.shown("mem:family", 1)[0].File; seen.SHA256 != f.SHA256 || seen.Name != f.Name {
		t.Errorf("the chat sees %+v", seen)
	}
	if f.Name != "holiday.mp4" || f.MIME != "video/mp4" || f.Kind != media.Video || f.Note != "converted from mov to mp4" || f.SHA256 == sum(content) {
		t.Errorf("kept %+v", f)
	}
}

func TestAnOriginalAndADocumentAreNeverConverted(t *testing.T) {
	for _, as := range []string{"original", "document"} {
		s := converting(t, confine.Confined)
		path, content := s.films("holiday.mov", moment...)
		if f := s.kept(ipc.FileRef{Path: path, As: as}); f.Name != "holiday.mov" || f.SHA256 != sum(content) || f.Kind != media.Document {
			t.Errorf("as %s: %+v", as, f)
		}
	}
}

func TestAMovingPictureAndASoundAreShownAsAskedFor(t *testing.T) {
	s := converting(t, confine.Confined)
	path, _ := s.films("cat.gif", moment...)
	if f := s.kept(ipc.FileRef{Path: path, As: "gif"}); f.Name != "cat.mp4" || !f.Loop || f.Note != "converted from gif to mp4" {
		t.Errorf("%+v", f)
	}
	s = converting(t, confine.Confined)
	path, _ = s.films("hello.mp3", "-f", "lavfi", "-i", "sine=duration=2")
	if f := s.kept(ipc.FileRef{Path: path, As: "voice"}); f.Kind != media.Voice || f.MIME != "audio/ogg" || f.Note != "converted from mp3 to Ogg Opus" {
		t.Errorf("%+v", f)
	}
}

func TestWhatCannotBeConvertedGoesAsADocumentWithTheReason(t *testing.T) {
	s := converting(t, confine.Confined)
	_, content := s.films("whole.mov", moment...)
	path := s.write("family", "torn.mov", content[:len(content)/2])
	f := s.kept(ipc.FileRef{Path: path})
	if f.Kind != media.Document || f.Name != "torn.mov" || !strings.Contains(f.Note, "not converted from mov to mp4: ffmpeg could not do it within its limits; ") {
		t.Errorf("%+v", f)
	}
}

func TestWithoutToolsFilesGoAsTheyAre(t *testing.T) {
	s := converting(t, confine.Off)
	path, content := s.films("holiday.mov", moment...)
	f := s.kept(ipc.FileRef{Path: path})
	if f.SHA256 != sum(content) || f.Kind != media.Document || strings.Contains(f.Note, "convert") {
		t.Errorf("%+v", f)
	}
}

// A host that ends in the middle of a conversion must not send the file unconverted.
func TestAHostThatEndsAcceptsNothingHalfConverted(t *testing.T) {
	s := converting(t, confine.Confined)
	path, _ := s.films("holiday.mov", moment...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.SendFor(ctx, "family", ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}, s.Mounted("family"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("offered: %v", err)
	}
}

// A HEIC whose tiles cannot be found would show the chat one of them.
func TestAPictureOfTilesIsNotSentAsOneOfThem(t *testing.T) {
	s := converting(t, confine.Confined)
	content := "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic\x00\x00\x00\x42meta\x00\x00\x00\x00\x00\x00\x00\x0epitm\x00\x00\x00\x00\x00\x01infe\x02\x00\x00\x00\x00\x01\x00\x00grid" + strings.Repeat("\x00", 64)
	f := s.kept(ipc.FileRef{Path: s.write("family", "IMG_1.heic", content)})
	if f.Kind != media.Document || f.SHA256 != sum(content) || !strings.Contains(f.Note, "not converted from heic to jpeg: ffmpeg would keep a part of the picture only") {
		t.Errorf("%+v", f)
	}
}

// What the tracks are, and not the file's name, says how a chat shows it.
func TestFilmsThatPhonesDoNotPlayAndASoundInAFilmsClothesWentAsTheyWere(t *testing.T) {
	s := converting(t, confine.Confined)
	phone := s.memory.Limits().Kinds[media.Video]
	phone.Codecs = []string{"h264", "aac"}
	s.memory.Limits().Kinds[media.Video] = phone
	kept := map[string]records.File{}
	for name, want := range map[string]media.Info{
		"a-hevc.mp4":     {Name: "a-hevc.mp4", Kind: media.Video, MIME: "video/mp4", Note: "converted from mp4 (hevc) to mp4", Tracks: media.Tracks{Video: "h264", Audio: "aac"}},
		"a-yuv444.mp4":   {Name: "a-yuv444.mp4", Kind: media.Video, MIME: "video/mp4", Note: "converted from mp4 (h264 4:4:4) to mp4", Tracks: media.Tracks{Video: "h264", Audio: "aac"}},
		"audio-only.mp4": {Name: "audio-only.m4a", Kind: media.Audio, MIME: "audio/mp4", Note: `its name is "audio-only.m4a" now, since not every chat takes "audio-only.mp4"`, Tracks: media.Tracks{Audio: "aac"}},
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", "media", "probe", "testdata", name))
		check(t, err)
		f := s.kept(ipc.FileRef{Path: s.write("family", name, string(content))})
		got := f.Info
		got.Size = 0
		if diff := cmp.Diff(want, got); diff != "" || strings.HasPrefix(want.Note, "its name") != (f.SHA256 == sum(string(content))) {
			t.Errorf("%s: %s", name, diff)
		}
		kept[f.Name] = f
	}
	for _, seen := range s.shown("mem:family", len(kept)) {
		if f := kept[seen.File.Name]; seen.File.SHA256 != f.SHA256 || seen.File.MIME != f.MIME {
			t.Errorf("the chat sees %+v of %+v", seen.File, f)
		}
	}
}
