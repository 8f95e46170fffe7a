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
