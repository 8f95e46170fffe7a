package channel

import "time"

// Forever is a Repeat.Keyed without an end.
const Forever time.Duration = -1

// Repeat says what a platform does with a Message.ID that it has had before.
type Repeat struct {
	// Keyed is how long after the first Send of a Message.ID another Send of
	// it shows nothing new. 0: the platform does not look at the id.
	Keyed time.Duration
}

// Knows says whether the platform still knows an id that it first had at the
// given age.
func (r Repeat) Knows(age time.Duration) bool { return r.Keyed == Forever || age < r.Keyed }

// Repeater is implemented by a channel whose platform does not know a
// Message.ID for ever.
type Repeater interface {
	// Repeat does not change while the channel runs.
	Repeat() Repeat
}

// RepeatOf is a channel's Repeat. Without a Repeater it is Forever, or 0 for an
// Asker.
func RepeatOf(c Channel) Repeat {
	if r, ok := c.(Repeater); ok {
		return r.Repeat()
	}
	if _, asks := c.(Asker); asks {
		return Repeat{}
	}
	return Repeat{Keyed: Forever}
}

// Blind says that a channel has neither a key nor an Asker: if the answer to a
// Send is lost, nobody can say whether the message is in the chat, and a second
// Send may show it twice.
func Blind(c Channel) bool {
	_, asks := c.(Asker)
	return !asks && !RepeatOf(c).Knows(0)
}
