package media_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/media"
)

func TestLimitsAtBelowAndAbove(t *testing.T) {
	limits := media.DefaultLimits()
	want := map[media.Kind]int64{
		media.Image: 16 << 20, media.Video: 64 << 20, media.Audio: 16 << 20, media.Voice: 16 << 20,
		media.Sticker: 512 << 10, media.Document: 100 << 20,
	}
	for _, kind := range media.Kinds() {
		limit := want[kind]
		if got := limits.Kinds[kind].Bytes; got != limit {
			t.Errorf("%s: %d bytes, want %d", kind, got, limit)
		}
		for _, size := range []int64{1, limit - 1, limit} {
			if err := limits.Check("whatsapp", media.Info{Name: "f", Kind: kind, Size: size}); err != nil {
				t.Errorf("%s of %d bytes: %v", kind, size, err)
			}
		}
		for _, size := range []int64{limit + 1, limit * 3} {
			message, _ := wantRefusal(t, limits.Check("whatsapp", media.Info{Name: "f", Kind: kind, Size: size}), "file_too_large")
			if strings.Count(message, "MiB")+strings.Count(message, "KiB")+strings.Count(message, "bytes") != 2 || !strings.Contains(message, "whatsapp") {
				t.Errorf("%q does not name size, limit and channel", message)
			}
		}
	}
}

func TestALimitErrorNamesSizeLimitAndRemedy(t *testing.T) {
	onlyImages := media.Limits{Kinds: map[media.Kind]media.Limit{media.Image: {Bytes: media.MiB}}}
	noStickers := media.DefaultLimits().Tighten(map[string]int64{"sticker": 0})
	for _, tt := range []struct {
		limits             media.Limits
		kind               media.Kind
		size               int64
		code, words, hints string
	}{
		{media.DefaultLimits(), media.Video, 71 * media.MiB, "file_too_large",
			"report.mp4 is 71 MiB; whatsapp takes video up to 64 MiB", "send it as a document (set `as` to document), or make it smaller"},
		{media.DefaultLimits(), media.Video, 64*media.MiB + 1, "file_too_large",
			"report.mp4 is 67,108,865 bytes; whatsapp takes video up to 67,108,864 bytes", "send it as a document (set `as` to document), or make it smaller"},
		{media.DefaultLimits(), media.Video, 101 * media.MiB, "file_too_large",
			"report.mp4 is 101 MiB; whatsapp takes video up to 64 MiB", "make it smaller (compress it, lower its quality), or split it and send the parts"},
		{media.DefaultLimits(), media.Document, 2048 * media.MiB, "file_too_large",
			"report.mp4 is 2 GiB; whatsapp takes documents up to 100 MiB", "make it smaller (compress it, lower its quality), or split it and send the parts"},
		{noStickers, media.Sticker, 10, "kind_not_taken",
			"report.mp4 cannot go to whatsapp, which takes no stickers", "send it as a document (set `as` to document)"},
		{noStickers, media.Sticker, 300 * media.MiB, "kind_not_taken",
			"report.mp4 cannot go to whatsapp, which takes no stickers", "make it smaller than 100 MiB and send it as a document (set `as` to document)"},
		{onlyImages, media.Document, 10, "kind_not_taken",
			"report.mp4 cannot go to whatsapp, which takes no documents", "say in a message what it holds; this chat takes no such files"},
		{onlyImages, media.Image, 2 * media.MiB, "file_too_large",
			"report.mp4 is 2 MiB; whatsapp takes images up to 1 MiB", "make it smaller (compress it, lower its quality), or split it and send the parts"},
	} {
		err := tt.limits.Check("whatsapp", media.Info{Name: "report.mp4", Kind: tt.kind, Size: tt.size})
		message, hint := wantRefusal(t, err, tt.code)
		if diff := cmp.Diff([]string{tt.words, tt.hints}, []string{message, hint}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestTightenOnlyTightens(t *testing.T) {
	wide := media.DefaultLimits()
	tight := wide.Tighten(map[string]int64{"image": 1000, "video": 1 << 40, "audio": -5, "nonsense": 1})
	got := map[media.Kind]int64{}
	for k, l := range tight.Kinds {
		got[k] = l.Bytes
	}
	want := map[media.Kind]int64{
		media.Image: 1000, media.Video: 64 << 20, media.Audio: 0, media.Voice: 16 << 20, media.Sticker: 512 << 10, media.Document: 100 << 20,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(media.DefaultLimits(), wide); diff != "" {
		t.Errorf("the limits it came from changed:\n%s", diff)
	}
	if tight.Kinds[media.Image].Caption != wide.Kinds[media.Image].Caption || tight.Text != wide.Text {
		t.Error("captions and text changed")
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1 KiB", 1500: "1.5 KiB", 10 << 10: "10 KiB", 1<<20 - 1: "1 MiB",
		71 << 20: "71 MiB", 100 << 20: "100 MiB", 3 << 30: "3 GiB", 1 << 50: "1 PiB", 1<<63 - 1: "8 EiB",
	} {
		if got := media.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func ExampleLimits_Check() {
	err := media.DefaultLimits().Check("whatsapp", media.Info{Name: "report.mp4", Kind: media.Video, Size: 71 << 20})
	fmt.Println(err)
	// Output: report.mp4 is 71 MiB; whatsapp takes video up to 64 MiB
}

func TestALargePictureGoesAsADocumentWhereTheChannelLikesThat(t *testing.T) {
	limits := media.Limits{Kinds: map[media.Kind]media.Limit{
		media.Image: {Bytes: 10}, media.Video: {Bytes: 20}, media.Voice: {Bytes: 10}, media.Document: {Bytes: 100},
	}}
	for _, c := range []struct {
		name  string
		large bool
		kind  media.Kind
		size  int64
		want  media.Kind // empty: refused
	}{
		{"fits", true, media.Image, 10, media.Image},
		{"too large", true, media.Image, 11, media.Document},
		{"a video", true, media.Video, 100, media.Document},
		{"for a document too", true, media.Image, 101, ""},
		{"a voice note is asked for as one", true, media.Voice, 11, ""},
		{"not on this channel", false, media.Image, 11, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits.LargeAsDocument = c.large
			got, err := limits.Fit("chat", media.Info{Name: "a", Kind: c.kind, Size: c.size, Loop: true})
			if c.want == "" {
				var large *media.LimitError
				if !errors.As(err, &large) {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || got.Kind != c.want {
				t.Fatalf("%+v, %v", got, err)
			}
			if changed := got.Kind != c.kind; changed != strings.Contains(got.Note, "as a document") || changed == got.Loop {
				t.Errorf("note %q, loop %v", got.Note, got.Loop)
			}
		})
	}
}

func TestATypeThatIsNotShownGoesAsADocument(t *testing.T) {
	limits := media.Limits{Kinds: map[media.Kind]media.Limit{
		media.Image: {Bytes: 10, MIME: []string{"image/png"}}, media.Voice: {Bytes: 10, MIME: []string{"audio/ogg"}},
		media.Audio: {Bytes: 10, MIME: []string{"audio/mpeg"}}, media.Video: {Bytes: 10}, media.Document: {Bytes: 10},
	}}
	for _, c := range []struct {
		kind media.Kind
		mime string
		want media.Kind
		note bool
	}{
		{media.Image, "image/png", media.Image, false},
		{media.Image, "image/webp", media.Document, true},
		{media.Voice, "audio/ogg", media.Voice, false},
		{media.Voice, "audio/mpeg", media.Audio, false},
		{media.Voice, "audio/wav", media.Document, true},
		{media.Video, "video/webm", media.Video, false},
		{media.Document, "image/webp", media.Document, false},
	} {
		got, err := limits.Fit("chat", media.Info{Name: "a", Kind: c.kind, MIME: c.mime, Size: 10})
		if err != nil || got.Kind != c.want || c.note != strings.Contains(got.Note, "chat does not show "+c.mime) {
			t.Errorf("%s %s: %+v, %v", c.kind, c.mime, got, err)
		}
		if again, err := limits.Fit("chat", got); err != nil || again != got {
			t.Errorf("%s %s is decided twice: %+v, %v", c.kind, c.mime, again, err)
		}
	}
	if _, err := limits.Fit("chat", media.Info{Kind: media.Sticker, MIME: "image/webp", Size: 1}); err == nil {
		t.Error("a kind that is not taken goes as another")
	}
}
