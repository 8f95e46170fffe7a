//go:build e2e

package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
	"github.com/longshore-bridge/longshore/media/probe"
)

// The codecs of the walk: the name of each, and how ffmpeg makes it.
var (
	walkPictures = map[string]string{
		"":     "",
		"h264": "libx264 -pix_fmt yuv420p", "h264 4:4:4": "libx264 -pix_fmt yuv444p", "h264 4:2:2": "libx264 -pix_fmt yuv422p", "h264 10-bit": "libx264 -pix_fmt yuv420p10le",
		"hevc": "libx265 -x265-params log-level=none", "mpeg4": "mpeg4", "h263": "h263 -s 176x144", "mjpeg": "mjpeg -pix_fmt yuvj420p", "vp8": "libvpx", "vp9": "libvpx-vp9",
		"av1": "libaom-av1 -cpu-used 8", "theora": "libtheora", "prores": "prores", "mpeg1video": "mpeg1video -r 25", "mpeg2video": "mpeg2video", "flv1": "flv", "wmv2": "wmv2",
	}
	walkSounds = map[string]string{
		"":    "",
		"aac": "aac", "mp3": "libmp3lame", "opus": "libopus", "vorbis": "libvorbis -ac 2", "flac": "flac", "alac": "alac", "ac3": "ac3", "eac3": "eac3", "mp2": "mp2",
		"amr_nb": "libopencore_amrnb -ar 8000 -ac 1", "pcm": "pcm_s16le", "wmav2": "wmav2",
	}
)

// walkOdd are codecs that no chat shows, and that some containers name otherwise.
var walkOdd = []string{"mp2", "wmav2", "wmv2", "flv1", "h263", "mpeg1video", "mpeg2video"}

// walkContainers are the containers of the walk: a name's extension, ffmpeg's name, and the
// type of a film and of a sound. The tracks of those without a type of sounds are not read.
var walkContainers = []struct{ ext, format, film, sound string }{
	{"mp4", "mp4", "video/mp4", "audio/mp4"}, {"m4a", "ipod", "video/mp4", "audio/mp4"}, {"mov", "mov", "video/quicktime", "audio/mp4"}, {"3gp", "3gp", "video/3gpp", "audio/mp4"},
	{"mkv", "matroska", "video/x-matroska", "audio/x-matroska"}, {"mka", "matroska", "video/x-matroska", "audio/x-matroska"}, {"webm", "webm", "video/webm", "audio/webm"},
	{"ogv", "ogg", "video/ogg", "audio/ogg"}, {"ogg", "ogg", "video/ogg", "audio/ogg"},
	{"avi", "avi", "video/x-msvideo", ""}, {"wmv", "asf", "video/x-ms-wmv", ""}, {"flv", "flv", "video/x-flv", ""}, {"mpg", "mpeg", "video/mpeg", ""}, {"m2ts", "mpegts", "video/mp2t", ""}, {"ts", "mpegts", "video/mp2t", ""},
}

var slaveFailed = regexp.MustCompile(`Slave muxer #(\d+) failed`)

// containersOf has ffmpeg make a pair of codecs and put it into each container that takes it.
// It returns the places of those in walkContainers.
func containersOf(t *testing.T, dir, pictures, sound string) (made []int) {
	args := strings.Fields("-v error -nostdin -f lavfi -i testsrc=size=64x64:rate=5:duration=0.4 -f lavfi -i sine=frequency=440:duration=0.4")
	if pictures != "" {
		args = append(append(args, "-map", "0:v", "-c:v"), strings.Fields(pictures)...)
	}
	if sound != "" {
		args = append(append(args, "-map", "1:a", "-c:a"), strings.Fields(sound)...)
	}
	var to []string
	for i, c := range walkContainers {
		to = append(to, "[onfail=ignore:strict=-2:f="+c.format+"]walk."+c.ext)
		made = append(made, i)
	}
	cmd := exec.Command("ffmpeg", append(args, "-flags", "+global_header", "-strict", "-2", "-y", "-f", "tee", strings.Join(to, "|"))...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	failed := slaveFailed.FindAllSubmatch(out, -1)
	if err != nil && len(failed) == 0 { // it has no such encoder
		t.Logf("%s and %s: %v: %s", pictures, sound, err, out)
		return nil
	}
	for _, m := range failed {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		made = slices.DeleteFunc(made, func(i int) bool { return i == n })
	}
	return made
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

// ways says how a file goes on a platform: shown as it is, converted, or as a document that
// says why. A platform that names no types takes files for a program, which are not shown.
func ways(t *testing.T, name string, info media.Info) map[string]string {
	t.Helper()
	how := map[string]string{}
	for _, p := range platforms() {
		limits := p.Settings().Limits()
		fit, err := limits.Fit(p.Key(), info)
		if err != nil {
			t.Errorf("%s on %s: %v", name, p.Key(), err)
			continue
		}
		limit := limits.Kinds[fit.Kind]
		unplayed := slices.ContainsFunc([]string{info.Tracks.Video, info.Tracks.Audio}, func(c string) bool { return c != "" && !slices.Contains(limit.Codecs, c) })
		r, converts := convert.For(info, media.Auto, limits)
		switch {
		case fit.Kind == media.Document && fit.Note == "":
			t.Errorf("%s on %s is a document without a reason", name, p.Key())
		case converts:
			made := media.Info{Name: r.Name, Kind: r.Kind, MIME: r.MIME, Size: 1}
			if now, err := limits.Fit(p.Key(), made); err != nil || now.Kind != r.Kind || r.Note == "" {
				t.Errorf("%s on %s is converted to %s, which goes as %s, %v", name, p.Key(), r.MIME, now.Kind, err)
			}
			how[p.Key()] = "converted"
		case (fit.Kind == media.Video || fit.Kind == media.Audio) && len(limit.Codecs) > 0 && (unplayed || !slices.Contains(limit.MIME, fit.MIME)):
			t.Errorf("%s on %s goes as %s, and nobody plays %s with %+v", name, p.Key(), fit.Kind, fit.MIME, info.Tracks)
		case fit.Kind == media.Document && (info.Kind == media.Video || info.Kind == media.Audio):
			t.Errorf("%s on %s: %q, and it is not converted", name, p.Key(), fit.Note)
		case fit.Kind == media.Document:
			how[p.Key()] = "document"
		default:
			how[p.Key()] = "shown"
		}
	}
	return how
}

// A chat shows a film or a sound only if its apps play all tracks; anything else is converted,
// or goes as a document that says why.
func TestEveryPairOfContainerAndCodecIsPlayedOrConvertedOrADocument(t *testing.T) {
	if out, err := exec.Command("ffmpeg", "-hide_banner", "-muxers").CombinedOutput(); err != nil || !strings.Contains(string(out), " tee ") {
		need.Lacking(t, "make films: %v", err)
	}
	dir, files, seen := t.TempDir(), 0, map[string]map[string]string{}
	for _, pictures := range slices.Sorted(maps.Keys(walkPictures)) {
		for _, sound := range slices.Sorted(maps.Keys(walkSounds)) {
			if pictures == "" && sound == "" || pictures != "" && pictures != "h264" && sound != "aac" && sound != "opus" { // one film meets each sound, and each film two
				continue
			}
			for _, i := range containersOf(t, dir, walkPictures[pictures], walkSounds[sound]) {
				c := walkContainers[i]
				name := strings.Join(strings.Fields(c.ext+" of "+pictures+" "+sound), " ")
				info := examined(t, filepath.Join(dir, "walk."+c.ext))
				want := media.Info{Kind: media.Video, MIME: c.film, Tracks: media.Tracks{Video: pictures, Audio: sound}}
				switch {
				case c.ext == "ts": // which is TypeScript's
					want.Kind, want.Tracks = media.Document, media.Tracks{}
				case c.sound == "":
					want.Tracks = media.Tracks{}
				case pictures == "":
					want.Kind, want.MIME = media.Audio, c.sound
				case pictures == "mjpeg" && strings.HasPrefix(info.MIME, "audio/"): // a cover
					want.Kind, want.MIME = media.Audio, c.sound
				}
				if (slices.Contains(walkOdd, sound) || slices.Contains(walkOdd, pictures)) && want.Tracks != (media.Tracks{}) {
					want.Tracks = info.Tracks
				}
				if diff := cmp.Diff(want, media.Info{Kind: info.Kind, MIME: info.MIME, Tracks: info.Tracks}); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
				seen[name] = ways(t, name, info)
				files++
			}
		}
	}
	for name, want := range map[string]map[string]string{
		"mp4 of h264 aac":       {"web": "shown", "slack": "shown", "discord": "shown", "telegram": "shown", "whatsapp": "shown", "push": "shown"},
		"webm of vp9 opus":      {"web": "shown", "slack": "shown", "discord": "shown", "telegram": "converted", "whatsapp": "converted", "push": "shown"},
		"mp4 of h264 4:4:4 aac": {"web": "converted", "slack": "converted", "discord": "converted", "telegram": "converted", "whatsapp": "converted", "push": "shown"},
		"mp4 of aac":            {"web": "shown", "slack": "shown", "discord": "shown", "telegram": "shown", "whatsapp": "shown", "push": "shown"},
	} {
		if diff := cmp.Diff(want, seen[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if t.Logf("%d files", files); files < 100 {
		t.Errorf("ffmpeg made %d files only", files)
	}
}
