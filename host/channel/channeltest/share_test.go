package channeltest

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

// share is a member of a memory channel, who says what a channel has to make of it.
func share(t testing.TB, m *memory.Channel, chat groups.JID, s Shared) {
	attached := func(f *SaidFile) []channel.Attachment {
		if f == nil {
			return nil
		}
		return []channel.Attachment{m.Attach(f.Name, f.MIME, f.Data)}
	}
	in := channel.Inbound{Chat: chat, From: s.From, Sender: "ada@mem", Text: s.Text, Files: attached(s.File), Author: s.Author, Forwarded: s.Author != ""}
	if s.Quote != nil {
		in.Forwarded, in.Author = false, ""
		in.Quote = &channel.Quote{ID: "M1", From: s.Quote.From, Text: s.Quote.Text, Selected: s.Selected, Files: attached(s.Quote.File),
			Forwarded: s.Case == ForwardQuoted, Elsewhere: s.Case == QuoteElsewhere}
	}
	switch s.Case {
	case HiddenLink:
		in.Text = strings.Replace(s.Text, "article", "article ("+s.Address+")", 1)
	case Place, Venue:
		in.Kind, in.Location, in.Text = channel.KindLocation, &s.Place, s.Place.String()
	case Contact:
		in.Kind, in.Text = channel.KindContact, channel.ContactText(s.Name, s.Number)
	case Poll:
		in.Kind, in.Text = channel.KindPoll, channel.PollText(s.Text, s.Choices)
	case Sticker, StickerName, StickerPicture:
		in.Kind, in.Text = channel.KindSticker, channel.StickerText(s.Name)
	case Unknown:
		in.Text, in.Told = channel.NotShown("dice"), "dice"
	case Pin:
		in.Kind, in.Text = channel.KindNote, channel.Pinned
	case NamelessAdmin:
		in.Role = channel.RoleAdmin
	}
	say(t, m, in)
}

// A channel that loses something of what members share is caught.
func TestTheSuiteCatchesWhatIsLostOfWhatMembersShare(t *testing.T) {
	for _, tt := range []struct {
		name, caught string
		wrap         func(*memory.Channel) channel.Channel
	}{
		{"loses that it is forwarded", string(Forward), inboxed(func(in *channel.Inbound) { in.Forwarded = false })},
		{"loses what is forwarded", string(ForwardFile), inboxed(func(in *channel.Inbound) { in.Files = nil })},
		{"loses a file without words", string(ForwardBare), inboxed(func(in *channel.Inbound) { in.Files = nil })},
		{"loses who wrote what is forwarded", string(ForwardAuthor), inboxed(func(in *channel.Inbound) { in.Author = "" })},
		{"loses that a quote is forwarded", string(ForwardQuoted), quoting(func(q *channel.Quote) { q.Forwarded = false })},
		{"loses a quoted file", string(QuoteFile), quoting(func(q *channel.Quote) { q.Files = nil })},
		{"loses the quoted part", string(QuotePart), quoting(func(q *channel.Quote) { q.Selected = "" })},
		{"takes a quote from elsewhere for its own", string(QuoteElsewhere), quoting(func(q *channel.Quote) { q.Elsewhere = false })},
		{"loses an address", string(HiddenLink), inboxed(func(in *channel.Inbound) { in.Text, _, _ = strings.Cut(in.Text, "(") })},
		{"loses a place", string(Place), inboxed(func(in *channel.Inbound) { in.Location = nil })},
		{"loses the name of a place", string(Venue), retold(channel.KindLocation, channel.Location{}.String())},
		{"loses a contact", string(Contact), retold(channel.KindContact, "Contact:")},
		{"takes a poll for a message", string(Poll), inboxed(func(in *channel.Inbound) { in.Kind = channel.KindMessage })},
		{"shows an empty sticker", string(Sticker), retold(channel.KindSticker, "")},
		{"loses which sticker it is", string(StickerName), retold(channel.KindSticker, channel.StickerText(""))},
		{"loses the picture of a sticker", string(StickerPicture), inboxed(func(in *channel.Inbound) { in.Files = nil })},
		{"takes a photo for a document", string(Photo), inboxed(func(in *channel.Inbound) {
			for i := range in.Files {
				in.Files[i].Kind = media.Document
			}
		})},
		{"does not name what it cannot show", string(Unknown), inboxed(func(in *channel.Inbound) { in.Told = "" })},
		{"counts a pin as lost", string(Pin), inboxed(func(in *channel.Inbound) { in.Told = "pin" })},
		{"takes an admin for a member", string(NamelessAdmin), inboxed(func(in *channel.Inbound) { in.Role = channel.RoleMember })},
		{"takes a name for a person", string(Renamed), inboxed(func(in *channel.Inbound) { in.Sender = in.From })},
		{"loses the ends of names", "the names of members' files survive", inboxed(func(in *channel.Inbound) {
			for i := range in.Files {
				in.Files[i].Name, _, _ = strings.Cut(in.Files[i].Name, ".")
			}
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			r.tell(find(t, tt.caught), memoryHarness(memory.Options{}, tt.wrap))
			if len(r.failures) == 0 {
				t.Errorf("story %q passed", tt.caught)
			}
		})
	}
	for _, lacks := range []map[Case]string{{}, {Forward: ""}} {
		h, r := memoryHarness(memory.Options{}, nil), &recorder{TB: t}
		h.Share, h.Lacks = nil, lacks
		if r.tell(find(t, string(Forward)), h); len(r.failures) == 0 {
			t.Errorf("a harness that lacks %v without a reason passed", lacks)
		}
	}
}

// retold is a channel that has other words for a kind.
func retold(kind channel.Kind, text string) func(*memory.Channel) channel.Channel {
	return inboxed(func(in *channel.Inbound) {
		if in.Kind == kind {
			in.Text = text
		}
	})
}
