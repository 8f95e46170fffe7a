package turns

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// use is what becomes of a member's message or act.
type use int

const (
	ignored    use = iota // nobody gets it
	speaks                // the assistant gets it as a message, and may be called by it
	speaksBack            // likewise, but only an answer to the assistant calls it
	joins                 // the next turn gets it as a note; groups.Events has exceptions
	joinsOnly             // likewise, without the exception that starts a turn
)

// useOf is the use of each kind. Of what is ignored, it says why.
func useOf(k channel.Kind) (u use, why string) {
	switch k {
	case channel.KindMessage, channel.KindLocation, channel.KindContact, channel.KindPoll:
		return speaks, ""
	case channel.KindSticker:
		return speaksBack, ""
	case channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindVote:
		return joins, ""
	case channel.KindNote:
		return joinsOnly, ""
	case channel.KindMembership:
		return ignored, "the platform is asked who is in the chat when it matters"
	}
	return ignored, "this version does not know the kind"
}

func isEvent(k channel.Kind) bool {
	u, _ := useOf(k)
	return u == joins || u == joinsOnly
}

// listensTo reports whether a group's assistant gets messages or events of this kind.
func listensTo(g groups.Group, k channel.Kind) bool {
	u, _ := useOf(k)
	return u != ignored && (!isEvent(k) || g.Events != groups.EventOff)
}

// starts reports whether a member's message or act calls the group's assistant. The
// trigger word counts only in what the member wrote.
func starts(g groups.Group, in *channel.Inbound) bool {
	switch u, _ := useOf(in.Kind); u {
	case speaks:
		return in.Direct || g.Trigger == "" || in.Told == "" && calls(g.Trigger, in.Text)
	case speaksBack:
		return in.Quote != nil && in.Quote.Own && !in.Quote.Elsewhere
	case joins:
		return g.Events == groups.EventTurn
	}
	return false
}

// inWords gives words to a message or note that has neither text nor file, so that the
// assistant gets nothing empty. It is counted like what the channel told in words.
func inWords(in *channel.Inbound) {
	shows := func(r rune) bool { // no filler either, such as U+3164 and the blank of Braille
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != '\u2800' && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	if in.Command != "" || !in.Kind.IsMessage() && in.Kind != channel.KindNote || strings.ContainsFunc(in.Text, shows) {
		return
	}
	if in.Kind == channel.KindSticker {
		in.Text = channel.StickerText("")
	} else if len(in.Files) == 0 {
		in.Told = cmp.Or(in.Told, string(in.Kind), "empty")
		in.Text = channel.NotShown(in.Told)
	}
}
