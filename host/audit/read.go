package audit

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Trail is an audit trail that is read, whether a host writes it or not. Files and Rows make one.
type Trail interface {
	// pieces gives the trail in pieces, from the oldest or, with back, from the newest.
	pieces(ctx context.Context, back bool) iter.Seq2[piece, error]

	// maskKey is the key of Mask; nil: it cannot be read.
	maskKey() []byte
}

// piece is some lines of a trail that follow one another.
type piece interface {
	// each calls see with each whole line and its end, and with the line's place.
	each(see func(line []byte, at place) error) error
}

// place is where a line stands.
type place struct {
	file  string // name alone; empty: the trail is rows
	line  int    // in the file, from 1; of a row, its number
	first int64  // the number of the line with which the file claims to begin; 0: the line does not begin one
}

// Files is the trail in the files of a directory.
func Files(dir string) Trail { return filesIn(dir) }

// filesIn is a directory of the trail's files.
type filesIn string

func (dir filesIn) pieces(_ context.Context, back bool) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		all, err := files(string(dir))
		if back {
			slices.Reverse(all)
		}
		for _, path := range all {
			if !yield(file(path), nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Exported is the trail in one file, which Export has written.
func Exported(path string) Trail { return exported(path) }

type exported string

func (path exported) pieces(context.Context, bool) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		_, err := os.Stat(string(path))
		yield(file(path), err)
	}
}

func (exported) maskKey() []byte { return nil }

// file is one file of a trail.
type file string

func (path file) each(see func(line []byte, at place) error) error {
	f, err := os.Open(string(path))
	if errors.Is(err, fs.ErrNotExist) { // it became too old meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	at := place{file: filepath.Base(string(path)), first: numberOf(string(path))}
	var stop error
	_, err = lines(f, func(line []byte) error {
		at.line++
		stop = see(line, at)
		at.first = 0
		return stop
	})
	if err != nil && stop == nil {
		at.line++
		return &Broken{File: at.file, Line: at.line, Why: err.Error()}
	}
	return stop
}

var fileForm = regexp.MustCompile(`^[0-9]{12,18}\.jsonl$`)

// files are the trail's files, the oldest first.
func files(dir string) (all []string, err error) {
	entries, err := safefs.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); fileForm.MatchString(e.Name()) {
			if !e.Type().IsRegular() {
				return nil, fmt.Errorf("%s is not a file", path)
			}
			all = append(all, path)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(numberOf(a), numberOf(b)) })
	return all, nil
}

// numberOf is the number of a file's first line.
func numberOf(path string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".jsonl"), 10, 64) // the form is known
	return n
}

// lines gives each whole line of a file, with its end, and returns where the last one
// ends. A line that is too long is an error.
func lines(r io.Reader, see func(line []byte) error) (end int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxLine:
			return end, fmt.Errorf("a line of more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return end, nil
		case err != nil:
			return end, err
		}
		if err := see(line); err != nil {
			return end, err
		}
		end += int64(len(line))
		line = line[:0]
	}
}

// Broken is where the chain is broken.
type Broken struct {
	File string // name alone; empty: the trail is rows
	Line int    // in the file; of a row, its number
	Gone bool   // files were deleted, nobody knows at which line
	Why  string
}

func (b *Broken) Error() string {
	if b.Gone {
		return b.Why
	}
	if b.File == "" {
		return fmt.Sprintf("entry %d: %s", b.Line, b.Why)
	}
	return fmt.Sprintf("%s, line %d: %s", b.File, b.Line, b.Why)
}

// Summary is what Verify found.
type Summary struct {
	Files   int    `json:"files"` // 0: the trail is rows
	Entries int64  `json:"entries"`
	First   int64  `json:"first"` // number; above 1: older files were removed
	Last    int64  `json:"last"`
	Hash    string `json:"hash"` // of the last entry
	Found   bool   `json:"found"`
}

// Verify reads the whole trail, and returns a *Broken at the first line that is
// not as it was written. anchor is the beginning of a hash of an earlier time, and Found
// says whether it is in the chain; empty: none is sought. The host may run meanwhile.
func Verify(ctx context.Context, t Trail, anchor string) (s Summary, err error) {
	err = walk(ctx, t, func(line []byte, at place) error {
		e, err := parse(line)
		if broken := s.next(e, err, at); broken != nil {
			return broken
		}
		s.Found = s.Found || anchor != "" && strings.HasPrefix(e.Hash, strings.ToLower(anchor))
		return nil
	})
	return s, err
}

// next adds the next line, which parse made an entry or an error. It returns why the line is not as it was
// written; nil if it is.
func (s *Summary) next(e Entry, err error, at place) *Broken {
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case at.first > 0 && at.first != e.Number:
		why = fmt.Sprintf("the file begins with entry %d", e.Number)
	case s.Entries > 0 && e.Number != s.Last+1:
		why = fmt.Sprintf("entry %d follows entry %d", e.Number, s.Last)
	case s.Entries > 0 && e.Previous != s.Hash:
		why = "the line before it is another one than when it was written"
	case s.Entries == 0 && (e.Number == 1) != (e.Previous == ""):
		why = "it is not the beginning that it claims to be"
	}
	if why != "" {
		return &Broken{File: at.file, Line: at.line, Why: why}
	}
	if s.Entries == 0 {
		s.First = e.Number
	}
	if at.first > 0 {
		s.Files++
	}
	s.Entries, s.Last, s.Hash = s.Entries+1, e.Number, e.Hash
	return nil
}

// Search gives the entries of the trail, the oldest first, until see returns an
// error, which it returns. It skips what it cannot read, and the rest of a file behind a
// line that is too long; Verify names that.
func Search(ctx context.Context, t Trail, see func(Entry) error) error {
	for p, err := range t.pieces(ctx, false) {
		if err == nil {
			err = entriesOf(p, see)
		}
		if err != nil {
			return fmt.Errorf("read audit trail: %w", err)
		}
	}
	return nil
}

// entriesOf gives the entries of one piece that can be read.
func entriesOf(p piece, see func(Entry) error) error {
	err := p.each(func(line []byte, _ place) error {
		e, err := parse(line)
		if err != nil {
			return nil //nolint:nilerr // Verify names the line
		}
		return see(e)
	})
	if _, broken := errors.AsType[*Broken](err); broken {
		return nil
	}
	return err
}

// Export writes the lines of the trail as they are, the oldest first.
func Export(ctx context.Context, t Trail, to io.Writer) error {
	return walk(ctx, t, func(line []byte, _ place) error {
		_, err := to.Write(line)
		return err
	})
}

// digest is a hash of all lines.
func digest(ctx context.Context, t Trail) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	err = Export(ctx, t, h)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// walk gives each line of the trail. What follows the last whole line is not there yet.
func walk(ctx context.Context, t Trail, see func(line []byte, at place) error) error {
	for p, err := range t.pieces(ctx, false) {
		if err == nil {
			err = p.each(see)
		}
		if _, broken := errors.AsType[*Broken](err); broken {
			return err
		}
		if err != nil {
			return fmt.Errorf("read audit trail: %w", err)
		}
	}
	return nil
}
