package channeltest

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Case is one thing that members of a chat send beside words and files. The suite demands
// each of every channel; a platform that has no such thing says so in Harness.Lacks.
type Case string

// The cases. Each says what Harness.Share does with the fields of Shared; From sends it.
const (
	Forward        Case = "a forwarded message"                         // forwards Text, which Author wrote
	ForwardFile    Case = "a forwarded message with a file"             // forwards Text with File
	ForwardBare    Case = "a forwarded file without words"              // forwards File
	ForwardAuthor  Case = "who wrote a forwarded message"               // as Forward: Author comes in
	ForwardQuoted  Case = "an answer to a forwarded message"            // writes Text in answer to Quote, which Quote.From had forwarded
	QuoteFile      Case = "an answer to a message with a file"          // writes Text in answer to Quote, which the channel may never have seen
	QuotePart      Case = "an answer to a part of a message"            // writes Text in answer to Selected, a part of Quote.Text
	QuoteElsewhere Case = "an answer to a message of another chat"      // writes Text in answer to Quote, of a chat that the channel does not know
	HiddenLink     Case = "words that lead to an address"               // writes Text, in which the word "article" leads to Address
	Place          Case = "a place"                                     // shows Place, which has no name
	Venue          Case = "a place with a name"                         // shows Place
	Contact        Case = "a contact"                                   // shows Name and Number
	Poll           Case = "a member's poll"                             // asks Text with Choices
	Sticker        Case = "a sticker"                                   // sends a sticker without a name or a picture
	StickerName    Case = "a sticker with a name"                       // sends a sticker that is called Name, or stands for the emoji Name
	StickerPicture Case = "a sticker with a picture"                    // sends a sticker that is File, a WebP
	Photo          Case = "a photo"                                     // sends File, a JPEG, as the app sends photos: without the name if the platform tells none
	Unknown        Case = "what the channel only tells in words"        // sends whatever the channel has no field for
	Pin            Case = "a pinned message"                            // pins a message
	NamelessAdmin  Case = "what an admin writes in the chat's own name" // writes Text
	Renamed        Case = "a member with a new name"                    // From is the new name of who wrote as Ada; writes Text
	Robot          Case = "what a robot writes"                         // another robot or app of the platform writes Text: nothing comes in
)

// Shared is what a member sends by the means of the platform's own apps.
type Shared struct {
	Case Case
	Said

	Author       string // of what is forwarded
	Quote        *Said  // what is answered
	Selected     string // of Quote.Text
	Address      string
	Place        channel.Location
	Name, Number string
	Choices      []string
}

// shares is a member who sends s in h.Chat. It returns what came in of it.
func (j *joined) shares(s Shared) []channel.Inbound {
	j.t.Helper()
	before := len(j.received(0))
	j.h.Share(j.t, j.h.Chat, s)
	j.h.Say(j.t, j.h.Chat, Said{From: "Ada", Text: "that was " + string(s.Case)})
	var got []channel.Inbound
	j.wait("what was said after "+string(s.Case), func(in *inbox) bool {
		got = append(got[:0], in.got[before:]...)
		return len(got) > 0 && got[len(got)-1].Text == "that was "+string(s.Case)
	})
	return got[:len(got)-1]
}

// sharedStories is a story for each Case that a platform has.
func sharedStories() (all []story) {
	for _, sc := range sharedCases() {
		all = append(all, story{string(sc.is), func(t testing.TB, h Harness) {
			if h.Share == nil {
				t.Error("Harness has no Share, and Lacks gives no reason")
				return
			}
			sc.tell(t, join(t, h))
		}, func(h Harness) bool { return h.Lacks[sc.is] == "" }})
	}
	return all
}
