package channel

import "time"

// LinkSettings is implemented by Settings of a channel whose server can serve, beside its
// own, files that are too large for their chats. It passes requests on to Setup.Links.
type LinkSettings interface {
	// Links says how links are offered; ok is false if they are not.
	Links() (terms LinkTerms, ok bool)
}

// LinkTerms are how links are offered.
type LinkTerms struct {
	URL     string        // https://host, perhaps with a path, without a slash at its end
	For     time.Duration // how long a link can be followed
	Largest int64         // bytes of one file
	Quota   int64         // bytes of all files of a group
}
