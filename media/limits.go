package media

// Limit is what a channel takes of one kind.
type Limit struct {
	Bytes   int64 // largest file; 0: the kind is not taken
	Caption int   // characters of text that may go with the file; 0: the text goes as a message of its own
}

// Limits is what a channel takes.
type Limits struct {
	Kinds map[Kind]Limit
	Text  int // characters in one text message; longer text is split
}
