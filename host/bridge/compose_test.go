package bridge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// newSiteOf is a site whose platform has other limits.
func newSiteOf(t *testing.T, change func(*media.Limits)) *site {
	t.Helper()
	l := media.DefaultLimits()
	change(&l)
	m := memory.New(memory.Options{Online: true, Limits: l})
	s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{m} })
	s.memory = m
	return s
}

func TestFilesShareMessagesAsFarAsThePlatformLikes(t *testing.T) {
	s := newSiteOf(t, func(l *media.Limits) { l.Files, l.Bytes, l.Threads = 3, 40, true })
	r := ipc.Request{Type: ipc.TypeFile, Thread: "t-1"}
	for _, f := range []struct{ name, content, caption string }{
		{"a.txt", "one", "all of them"},
		{"b.txt", "two", ""},
		{"c.txt", "three", ""},
		{"d.txt", "the fourth", ""}, // one too many
		{"e.txt", "the fifth", "its own words"},
		{"f.ogg", "OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x13OpusHead", ""}, // goes alone
		{"g.txt", "eight", ""},
		{"h.txt", strings.Repeat("large", 8), ""}, // too much for one message
	} {
		r.Files = append(r.Files, ipc.FileRef{Path: s.write("family", f.name, f.content), Caption: f.caption})
	}
	if v := s.handle("family", r)[0]; !v.Accepted {
		t.Fatalf("fate %+v", v)
	}
	var got []string
	for _, m := range s.shown("mem:family", 6) {
		words := m.Thread + " " + m.Text
		for _, f := range m.Files() {
			words += " " + f.Name
		}
		got = append(got, words)
	}
	want := []string{"t-1 all of them a.txt b.txt c.txt", "t-1  d.txt", "t-1 its own words e.txt", "t-1  f.ogg", "t-1  g.txt", "t-1  h.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ds, err := s.outbox.List(t.Context(), records.Filter{})
	check(t, err)
	result := report.Result(ds[0])
	if len(result.Parts) != 8 || result.Status != ipc.Sent {
		t.Fatalf("the result has %d parts and is %s", len(result.Parts), result.Status)
	}
	for i, o := range result.Parts {
		if album := i < 3; o.Name != r.Files[i].Path[len("/workspace/group/"):] || o.Status != ipc.Sent || album != (o.MessageID == result.Parts[0].MessageID) {
			t.Errorf("file %d became %+v", i, o)
		}
	}
}

func TestTextIsCutInTheUnitsOfThePlatform(t *testing.T) {
	for unit, want := range map[media.Unit][]string{
		media.Characters: {"🚢🚢🚢🚢🚢🚢", "🚢🚢"},
		media.UTF16:      {"🚢🚢🚢", "🚢🚢🚢", "🚢🚢"},
		media.Bytes:      {"🚢", "🚢", "🚢", "🚢", "🚢", "🚢", "🚢", "🚢"},
	} {
		s := newSiteOf(t, func(l *media.Limits) { l.Text, l.Unit = 6, unit })
		if v := s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: strings.Repeat("🚢", 8)})[0]; !v.Accepted {
			t.Fatalf("fate %+v", v)
		}
		var got []string
		for _, m := range s.shown("mem:family", len(want)) {
			got = append(got, m.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", unit, diff)
		}
	}
}

// TestTextsTakeTheFormOfThePlatform has a caption that fits only as it was written.
func TestTextsTakeTheFormOfThePlatform(t *testing.T) {
	s := newSiteOf(t, func(l *media.Limits) {
		l.Text, l.Markup = 60, media.MarkupSlack
		l.Kinds[media.Document] = media.Limit{Bytes: media.MiB, Caption: 20}
	})
	words := ipc.Request{Type: ipc.TypeMessage, Text: "# News\n**one** of *the* two <!channel>\n```\nfirst\nsecond\n```"}
	files := ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{
		{Path: s.write("family", "a.txt", "one"), Caption: "**A** & B"},
		{Path: s.write("family", "b.txt", "two"), Caption: "C & D & E & F & G"},
	}}
	for i, v := range s.handle("family", words, files) {
		if !v.Accepted {
			t.Fatalf("fate of request %d: %+v", i, v)
		}
	}
	var got []string
	for _, m := range s.shown("mem:family", 5) {
		got = append(got, m.Text)
	}
	want := []string{"*News*\n*one* of _the_ two &lt;!channel&gt;", "```\nfirst\nsecond\n```", "*A* &amp; B", "", "C &amp; D &amp; E &amp; F &amp; G"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a picture shows is one line without tricks, whatever the request holds, and
// members' devices may read it aloud.
func TestWhatAPictureShowsGoesAlong(t *testing.T) {
	s := newSite(t)
	r := file(s.write("family", "a.txt", "bytes"))
	r.Files[0].Alt = "a quay\n at  dusk\u202e" + strings.Repeat("\u2067", 300)
	s.handle("family", r)
	ds, err := s.outbox.List(t.Context(), records.Filter{})
	check(t, err)
	got := ds[0].Parts[0].Files[0].Alt
	if !strings.HasPrefix(got, `a quay at dusk\u202e\u2067`) || len(got) != ipc.MaxAlt {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
