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
// given age. A negative age is not known: the clock was set back since.
func (r Repeat) Knows(age time.Duration) bool {
	return r.Keyed == Forever || age >= 0 && age < r.Keyed
}

// Blind says that a channel has neither a key nor a Finder: if the answer to a
// Send is lost, nobody can say whether the message is in the chat, and a second
// Send may show it twice. So the message is uncertain at once.
func Blind(c Channel) bool {
	_, finds := c.(Finder)
	return !finds && !c.Repeat().Knows(0)
}
