package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hashMember is what stands before a line's hash.
const hashMember = `,"hash":"`

// encode appends an entry's line to out, and returns the line's hash.
func encode(out *bytes.Buffer, e *Entry) (hash string, err error) {
	begin := out.Len()
	if err := json.NewEncoder(out).Encode(e); err != nil {
		return "", err
	}
	out.Truncate(out.Len() - len("}\n"))
	sum := sha256.Sum256(out.Bytes()[begin:])
	hash = hex.EncodeToString(sum[:])
	out.WriteString(hashMember + hash + "\"}\n")
	return hash, nil
}

// chain appends the lines of entries to out, behind the line of that number and hash, and returns
// those of the last one.
func chain(out *bytes.Buffer, number int64, hash string, all []Entry) (int64, string, error) {
	for _, e := range all {
		number++
		e.Number, e.Previous = number, hash
		var err error
		if hash, err = encode(out, &e); err != nil {
			return number, hash, err
		}
	}
	return number, hash, nil
}

// hashOf is the hash that a line of encode ends in; of another line, of all of it.
func hashOf(line []byte) string {
	body, _, ok := cutHash(line)
	if !ok {
		body = line
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func cutHash(line []byte) (body []byte, hash string, ok bool) {
	i := bytes.LastIndex(line, []byte(hashMember))
	if i < 0 {
		return nil, "", false
	}
	rest := string(line[i+len(hashMember):])
	hash, ok = strings.CutSuffix(rest, "\"}\n")
	return line[:i], hash, ok && len(hash) == 2*sha256.Size
}

// parse reads a line and checks its own hash. What it returns beside an error is as far as
// it could read.
func parse(line []byte) (e Entry, err error) {
	body, hash, ok := cutHash(line)
	if !ok {
		return e, errors.New("the line has no hash")
	}
	if err := json.Unmarshal(append(slices.Clone(body), '}'), &e); err != nil {
		return e, fmt.Errorf("the line is no entry: %w", err)
	}
	if e.Hash = hashOf(line); e.Hash != hash {
		return e, errors.New("the line was changed: its hash is another one")
	}
	return e, nil
}
