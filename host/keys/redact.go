package keys

import "bytes"

// minRedacted is the shortest key that is taken out of answers: a shorter one may be a
// word of the text.
const minRedacted = 12

// redactor takes the operator's key out of an answer as it passes. Some services repeat
// what they were sent.
type redactor struct {
	key  []byte
	tail []byte // the last bytes, as far as the key may begin with them
}

func newRedactor(key string) *redactor {
	if len(key) < minRedacted {
		return &redactor{}
	}
	return &redactor{key: []byte(key)}
}

// next returns what may pass of the answer with its next bytes.
func (r *redactor) next(p []byte) []byte {
	if len(r.key) == 0 {
		return p
	}
	if len(r.tail) > 0 {
		p = append(r.tail, p...)
	}
	if bytes.Contains(p, r.key) {
		p = bytes.ReplaceAll(p, r.key, []byte("[key]"))
	}
	keep := min(len(r.key)-1, len(p))
	for keep > 0 && !bytes.HasPrefix(r.key, p[len(p)-keep:]) {
		keep--
	}
	r.tail = bytes.Clone(p[len(p)-keep:])
	return p[:len(p)-keep]
}

// rest returns what is left at the end. Most of a key is as good as a key.
func (r *redactor) rest() []byte {
	if len(r.tail) >= minRedacted {
		return []byte("[key]")
	}
	return r.tail
}
