package channel

import "time"

// LinkSettings is implemented by Settings of a channel whose server can also serve files that
// are too large for their chats: it passes requests for them on to Setup.Links.
type LinkSettings interface {
	// Links returns how links are offered; ok is false if they are not.
	Links() (terms LinkTerms, ok bool)
}

// LinkTerms are how links are offered.
type LinkTerms struct {
	URL     string        // https://host, perhaps with a path, without a slash at its end
	For     time.Duration // how long a link can be followed
	Largest int64         // bytes of one file
	Quota   int64         // bytes of all files of a group
}
