//go:build e2e

package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
	"github.com/longshore-bridge/longshore/media/probe"
)

// The containers and codecs of the walk. ffmpeg says which of them go together.
var (
	walkContainers = []string{"mp4", "m4a", "mov", "3gp"}
	walkPictures   = [][]string{nil,
		{"libx264"}, {"libx264", "-pix_fmt", "yuv444p"}, {"libx264", "-pix_fmt", "yuv422p"}, {"libx264", "-pix_fmt", "yuv420p10le"}, {"libx264", "-profile:v", "baseline"},
		{"libx265"}, {"mpeg4"}, {"h263", "-s", "176x144"}, {"mjpeg"}, {"libvpx"}, {"libvpx-vp9"}, {"libtheora"}, {"prores"}}
	walkSounds = []string{"", "aac", "libmp3lame", "libopus", "libvorbis", "flac", "alac", "ac3", "pcm_s16le"}
)

type stream struct {
	Type    string `json:"codec_type"`
	Name    string `json:"codec_name"`
	Pixels  string `json:"pix_fmt"`
	Profile string `json:"profile"`
}

// seenBy is what ffprobe says of a file.
func seenBy(t *testing.T, path string) (pictures, sound string) {
	t.Helper()
	out, err := exec.Command("ffprobe", "-v", "error", "-show_streams", "-of", "json", path).Output()
	var got struct{ Streams []stream }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, s := range got.Streams {
		name := s.Name
		if strings.HasPrefix(name, "pcm_") {
			name = "pcm"
		}
		if name == "h264" && !slices.Contains([]string{"yuv420p", "yuvj420p"}, s.Pixels) {
			name = "h264 " + map[string]string{"yuv444p": "4:4:4", "yuv422p": "4:2:2", "yuv420p10le": "10-bit"}[s.Pixels]
		}
		if s.Type == "video" {
			pictures = name
		} else {
			sound = name
		}
	}
	return pictures, sound
}

// walk makes a file of each container and pair of codecs that ffmpeg writes.
func walk(t *testing.T, see func(path string)) {
	dir := t.TempDir()
	for _, ext := range walkContainers {
		for i, pictures := range walkPictures {
			sounds := walkSounds
			if i > 1 { // the first film meets each sound, and each film one
				sounds = walkSounds[1:2]
			}
			for _, sound := range sounds {
				args := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=0.4", "-f", "lavfi", "-i", "sine=frequency=440:duration=0.4"}
				if len(pictures) > 0 {
					args = append(append(args, "-map", "0:v", "-c:v"), pictures...)
					if !slices.Contains(pictures, "-pix_fmt") && pictures[0] == "libx264" {
						args = append(args, "-pix_fmt", "yuv420p")
					}
				}
				if sound != "" {
					args = append(args, "-map", "1:a", "-c:a", sound)
				}
				if len(pictures) == 0 && sound == "" {
					continue
				}
				path := filepath.Join(dir, strings.Join(append(slices.Clone(pictures), sound), "_")+"."+ext)
				if exec.Command("ffmpeg", append(args, "-strict", "-2", "-y", path)...).Run() == nil {
					see(path)
				}
				_ = os.Remove(path)
			}
		}
	}
}

// examined is a file as the host sees it.
func examined(t *testing.T, path string) media.Info {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	head, err := io.ReadAll(io.LimitReader(f, media.HeadSize))
	if err != nil {
		t.Fatal(err)
	}
	info, err := media.ClassifyTracks(filepath.Base(path), "", head, probe.Tracks(f, stat.Size()), stat.Size(), media.Auto)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A chat shows a film or a sound only if its apps play all tracks; anything else is converted,
// or goes as a document that says why.
func TestEveryPairOfContainerAndCodecIsPlayedOrConvertedOrADocument(t *testing.T) {
	if _, err := exec.LookPath("ffprobe"); err != nil {
		need.Lacking(t, "make films: %v", err)
	}
	files := 0
	walk(t, func(path string) {
		files++
		name := filepath.Base(path)
		info := examined(t, path)
		pictures, sound := seenBy(t, path)
		read := info.Tracks != (media.Tracks{})
		parsed := !slices.Contains([]string{".avi", ".wmv", ".flv", ".mpg"}, filepath.Ext(path))
		if parsed && info.Tracks != (media.Tracks{Video: pictures, Audio: sound}) {
			t.Errorf("%s: %+v, and ffprobe says %q and %q", name, info.Tracks, pictures, sound)
		}
		if parsed && (info.Kind == media.Video) != (pictures != "") && pictures != "mjpeg" {
			t.Errorf("%s is %s, and has the picture %q", name, info.Kind, pictures)
		}
		for _, p := range platforms() {
			limits := p.Limits(p.Settings())
			fit, err := limits.Fit(p.Key, info)
			if err != nil {
				t.Errorf("%s on %s: %v", name, p.Key, err)
				continue
			}
			codecs := limits.Kinds[fit.Kind].Codecs
			played := func(c string) bool { return c == "" || slices.Contains(codecs, c) }
			shown := fit.Kind != media.Document && len(codecs) > 0
			if shown && read && (!played(pictures) || !played(sound)) {
				t.Errorf("%s on %s: goes as %s, and nobody plays %q with %q", name, p.Key, fit.Kind, pictures, sound)
			}
			if fit.Kind == media.Document && info.Kind != media.Document {
				if fit.Note == "" {
					t.Errorf("%s on %s is a document without a reason", name, p.Key)
				}
				if r, ok := convert.For(info, media.Auto, limits); !ok || r.Note == "" {
					t.Errorf("%s on %s: %q, and it is not converted", name, p.Key, fit.Note)
				}
			}
		}
	})
	if t.Logf("%d files", files); files < 30 {
		t.Errorf("ffmpeg made %d files only", files)
	}
}
