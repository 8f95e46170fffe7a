package channeltest

import (
	"bytes"
	"image"
	"image/jpeg"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// sharedCase is what a Case is, and what has to come of it.
type sharedCase struct {
	is   Case
	tell func(t testing.TB, j *joined)
}

// sharedCases are all.
func sharedCases() []sharedCase {
	quote := &Said{From: "Bo", Text: "The crane is down since 9:00", File: document()}
	return []sharedCase{
		comes(Shared{Case: Forward, Said: Said{Text: "The crane is down"}, Author: "Bo"}, forwarded),
		comes(Shared{Case: ForwardFile, Said: Said{Text: "The crane is down", File: document()}, Author: "Bo"}, forwarded),
		comes(Shared{Case: ForwardBare, Said: Said{File: document()}, Author: "Bo"}, forwarded),
		comes(Shared{Case: ForwardAuthor, Said: Said{Text: "The crane is down"}, Author: "Bo"}, func(j *joined, s Shared, in channel.Inbound) {
			j.equals("Author", s.Author, in.Author)
		}),
		comes(Shared{Case: ForwardQuoted, Said: Said{Text: "is this true?"}, Author: "Cy", Quote: quote}, func(j *joined, s Shared, in channel.Inbound) {
			quoted(j, s, in)
			j.equals("Quote.Forwarded", true, in.Quote.Forwarded)
		}),
		comes(Shared{Case: QuoteFile, Said: Said{Text: "what is this?"}, Quote: quote}, quoted),
		comes(Shared{Case: QuotePart, Said: Said{Text: "since when?"}, Quote: &Said{From: "Bo", Text: quote.Text}, Selected: "since 9:00"}, func(j *joined, s Shared, in channel.Inbound) {
			quoted(j, s, in)
			j.equals("Quote.Selected", s.Selected, in.Quote.Selected)
		}),
		comes(Shared{Case: QuoteElsewhere, Said: Said{Text: "who says so?"}, Quote: &Said{From: "Bo", Text: quote.Text}}, elsewhere),
		comes(Shared{Case: HiddenLink, Said: Said{Text: "😀 read this article, please"}, Address: "https://example.org/a?b=1&c=(2)"}, func(j *joined, s Shared, in channel.Inbound) {
			for _, part := range []string{"😀 read this ", "article", s.Address, "please"} {
				if !strings.Contains(in.Text, part) {
					j.t.Errorf("%q came in without %q", in.Text, part)
				}
			}
		}),
		comes(Shared{Case: Place, Place: channel.Location{Latitude: 53.543764, Longitude: 9.966374}}, placed),
		comes(Shared{Case: Venue, Place: channel.Location{Latitude: 53.543764, Longitude: 9.966374, Name: "Pier 3 Quay 1"}}, placed),
		comes(Shared{Case: Contact, Name: "Bo Ek", Number: "+49150000000"}, func(j *joined, s Shared, in channel.Inbound) {
			j.told(channel.KindContact, channel.ContactText(s.Name, s.Number), in)
		}),
		comes(Shared{Case: Poll, Said: Said{Text: "When?"}, Choices: []string{"Mon", "Tue"}}, func(j *joined, s Shared, in channel.Inbound) {
			j.told(channel.KindPoll, channel.PollText(s.Text, s.Choices), in)
		}),
		comes(Shared{Case: Sticker}, stuck),
		comes(Shared{Case: StickerName, Name: "👍"}, func(j *joined, s Shared, in channel.Inbound) {
			j.told(channel.KindSticker, channel.StickerText(s.Name), in)
		}),
		comes(Shared{Case: StickerPicture, Said: Said{File: &SaidFile{Name: "sticker.webp", MIME: "image/webp", Data: []byte(webp)}}}, func(j *joined, s Shared, in channel.Inbound) {
			stuck(j, s, in)
			j.hasFile(s.File, in.Files, media.Sticker, media.Image)
		}),
		comes(Shared{Case: Photo, Said: Said{File: &SaidFile{Name: "photo.jpg", MIME: "image/jpeg", Data: photo()}}}, func(j *joined, s Shared, in channel.Inbound) {
			j.hasFile(s.File, in.Files, media.Image)
		}),
		comes(Shared{Case: Unknown}, func(j *joined, _ Shared, in channel.Inbound) {
			if !strings.Contains(in.Text, channel.NotShown("")) || !channel.ToldName(in.Told) || !in.Kind.IsMessage() {
				j.t.Errorf("came in as %+v, want words, and the platform's name of its kind in Told", in)
			}
		}),
		comes(Shared{Case: Pin}, func(j *joined, _ Shared, in channel.Inbound) {
			j.equals("Kind", channel.KindNote, in.Kind)
			if !strings.HasPrefix(in.Text, channel.Pinned) || in.Told != "" {
				j.t.Errorf("came in as %+v, want the words for a pin, and nothing that counts as lost", in)
			}
		}),
		comes(Shared{Case: NamelessAdmin, Said: Said{Text: "close the gate"}}, func(j *joined, s Shared, in channel.Inbound) {
			j.told(channel.KindMessage, s.Text, in)
			j.equals("Role", channel.RoleAdmin, in.Role)
		}),
		{Renamed, renamed},
		{Robot, func(t testing.TB, j *joined) {
			if got := j.shares(Shared{Case: Robot, Said: Said{From: "Robo", Text: "I am a robot"}}); len(got) > 0 {
				t.Errorf("came in: %+v", got)
			}
		}},
	}
}

// comes is a case of which one message comes in, last of what does.
func comes(s Shared, check func(j *joined, s Shared, in channel.Inbound)) sharedCase {
	s.From = "Ada"
	return sharedCase{s.Case, func(t testing.TB, j *joined) {
		got := j.shares(s)
		if len(got) == 0 {
			t.Fatal("nothing came in")
		}
		in := got[len(got)-1]
		if in.ID == "" || in.From == "" || in.Time.IsZero() || in.Chat != j.h.Chat {
			t.Errorf("came in as %+v", in)
		}
		check(j, s, in)
	}}
}

func (j *joined) equals(what string, want, got any) {
	j.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		j.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// told wants a message of that kind and text.
func (j *joined) told(kind channel.Kind, text string, in channel.Inbound) {
	j.t.Helper()
	j.equals("Kind", kind, in.Kind)
	j.equals("Text", text, in.Text)
}

// hasFile wants want as the only one of files, of one of those kinds.
func (j *joined) hasFile(want *SaidFile, files []channel.Attachment, kinds ...media.Kind) {
	j.t.Helper()
	if want == nil {
		j.equals("files", 0, len(files))
		return
	}
	if len(files) != 1 {
		j.t.Errorf("%d files, want %s", len(files), want.Name)
		return
	}
	if f := files[0]; path.Ext(f.Name) != path.Ext(want.Name) || !slices.Contains(kinds, f.Kind) || f.MIME == "" {
		j.t.Errorf("%s came in as %+v", want.Name, f.Info)
	}
	if body, err := j.fetch(channel.Inbound{Chat: j.h.Chat, Files: files}); err != nil || !bytes.Equal(body, want.Data) {
		j.t.Errorf("%d bytes of %s were fetched, or others than were sent: %v", len(body), want.Name, err)
	}
}

func forwarded(j *joined, s Shared, in channel.Inbound) {
	j.t.Helper()
	j.told(channel.KindMessage, s.Text, in)
	j.equals("Forwarded", true, in.Forwarded)
	j.hasFile(s.File, in.Files, media.Document)
}

func quoted(j *joined, s Shared, in channel.Inbound) {
	j.t.Helper()
	j.told(channel.KindMessage, s.Text, in)
	if in.Quote == nil {
		j.t.Fatal("it came in without what it answers")
	}
	j.equals("Quote.Text", s.Quote.Text, in.Quote.Text)
	if in.Quote.From == "" {
		j.t.Error("the quote does not say who wrote it")
	}
	j.hasFile(s.Quote.File, in.Quote.Files, media.Document)
}

func elsewhere(j *joined, s Shared, in channel.Inbound) {
	j.told(channel.KindMessage, s.Text, in)
	if q := in.Quote; q == nil || !q.Elsewhere || q.Text != s.Quote.Text && q.Selected != s.Quote.Text {
		j.t.Errorf("it came in as an answer to %+v, want %q from elsewhere", in.Quote, s.Quote.Text)
	}
}

func placed(j *joined, s Shared, in channel.Inbound) {
	j.t.Helper()
	j.told(channel.KindLocation, s.Place.String(), in)
	j.equals("Location", &s.Place, in.Location)
}

func stuck(j *joined, _ Shared, in channel.Inbound) {
	j.t.Helper()
	j.equals("Kind", channel.KindSticker, in.Kind)
	if in.Text == "" {
		j.t.Error("it came in without words")
	}
}

func renamed(t testing.TB, j *joined) {
	n := len(j.received(0))
	j.h.Say(t, j.h.Chat, Said{From: "Ada", Text: "hello"})
	was := j.received(n + 1)[n]
	got := j.shares(Shared{Case: Renamed, Said: Said{From: "Ada Lovelace", Text: "hello again"}})
	if len(got) != 1 || got[0].Text != "hello again" || got[0].Sender == "" || got[0].Sender != was.Sender {
		t.Errorf("%+v came in after %+v, want the same Sender", got, was)
	}
}

// memberNames are names of files as members see them.
var memberNames = []string{
	"Übersicht 2026.pdf", "日本語 レポート.xlsx", "семья.tar.gz", `"quoted" & 100% 'really' (1).txt`, "a;b=c, d.csv", "%41%2e.txt", "cr\u0065\u0301me.pdf",
	strings.Repeat("ein langer Name ", 20) + "Ende.pdf",
}

func memberNamesSurvive(t testing.TB, h Harness) {
	j := join(t, h)
	for i, name := range memberNames {
		h.Say(t, h.Chat, Said{From: "Ada", Text: "look", File: &SaidFile{Name: name, MIME: "application/octet-stream", Data: noise(100)}})
		m := j.received(i + 1)[i]
		if len(m.Files) != 1 {
			t.Fatalf("%q came in with %d files", name, len(m.Files))
		}
		j.equals("name", media.SafeName(name), m.Files[0].Name)
	}
}

func document() *SaidFile {
	return &SaidFile{Name: "report.pdf", MIME: "application/pdf", Data: append([]byte("%PDF-1.4\n"), noise(2000)...)}
}

// webp is a picture of one pixel.
const webp = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"

// photo is a picture of a few pixels.
func photo() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil) // a buffer takes everything
	return b.Bytes()
}
