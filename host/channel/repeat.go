package channel

import "time"

// Forever is a Repeat.Keyed without an end.
const Forever time.Duration = -1

// Repeat is what a platform does with a Message.ID that it has had before.
type Repeat struct {
	// Keyed is how long after the first Send of a Message.ID another Send of it shows nothing
	// new. 0: the platform ignores the id.
	Keyed time.Duration
}

// Knows reports whether the platform still knows an id that it first had so long ago. It does
// not if the age is negative, since the clock was set back then.
func (r Repeat) Knows(age time.Duration) bool {
	return r.Keyed == Forever || age >= 0 && age < r.Keyed
}

// Blind reports whether a channel has neither a key nor a Finder. If the answer to its Send is
// lost, nobody can say whether the chat has the message, and a second Send may show it twice:
// the message is uncertain at once.
func Blind(c Channel) bool {
	_, finds := c.(Finder)
	return !finds && !c.Repeat().Knows(0)
}
