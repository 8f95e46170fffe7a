package media

// Error is a refusal of this package that has nothing to do with a channel's
// limits: an empty file, a style that the file cannot take. It is permanent:
// the same file with the same style will be refused again.
type Error struct {
	Code    string // "file_empty", "style_unknown", "style_impossible"
	Message string // what is wrong, lower case but for the file's name, no period
	Hint    string // what to do about it
}

func (e *Error) Error() string { return e.Message }

// Refusal returns the three parts of the refusal for the protocol's reply.
func (e *Error) Refusal() (code, message, hint string) { return e.Code, e.Message, e.Hint }
