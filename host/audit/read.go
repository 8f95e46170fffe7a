package audit

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

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
		if fileForm.MatchString(e.Name()) && e.Type().IsRegular() {
			all = append(all, filepath.Join(dir, e.Name()))
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
	File string // name alone
	Line int
	Why  string
}

func (b *Broken) Error() string { return fmt.Sprintf("%s, line %d: %s", b.File, b.Line, b.Why) }

// Summary is what Verify found.
type Summary struct {
	Files   int    `json:"files"`
	Entries int64  `json:"entries"`
	First   int64  `json:"first"` // number; above 1: older files were removed
	Last    int64  `json:"last"`
	Hash    string `json:"hash"` // of the last entry
	Found   bool   `json:"found"`
}

// Verify reads the whole trail in dir, and returns a *Broken at the first line that is
// not as it was written. anchor is the beginning of a hash of an earlier time, and Found
// says whether it is in the chain; empty: none is sought. The host may run meanwhile.
func Verify(dir, anchor string) (s Summary, err error) {
	err = walk(dir, func(file string, number int, e Entry, err error) error {
		broken := func(why string) error { return &Broken{file, number, why} }
		switch {
		case err != nil:
			return broken(err.Error())
		case number == 1 && numberOf(file) != e.Number:
			return broken(fmt.Sprintf("the file begins with entry %d", e.Number))
		case s.Entries > 0 && e.Number != s.Last+1:
			return broken(fmt.Sprintf("entry %d follows entry %d", e.Number, s.Last))
		case s.Entries > 0 && e.Previous != s.Hash:
			return broken("the line before it is another one than when it was written")
		case s.Entries == 0 && (e.Number == 1) != (e.Previous == ""):
			return broken("it is not the beginning that it claims to be")
		}
		if s.Entries == 0 {
			s.First = e.Number
		}
		if number == 1 {
			s.Files++
		}
		s.Entries, s.Last, s.Hash = s.Entries+1, e.Number, e.Hash
		s.Found = s.Found || anchor != "" && strings.HasPrefix(e.Hash, strings.ToLower(anchor))
		return nil
	})
	return s, err
}

// Search gives the entries of the trail in dir, the oldest first, until see returns an
// error, which it returns. It skips what it cannot read, and the rest of a file behind a
// line that is too long; Verify names that.
func Search(dir string, see func(Entry) error) error {
	return walk(dir, func(_ string, _ int, e Entry, err error) error {
		if err != nil {
			return nil
		}
		return see(e)
	})
}

// walk gives each line of the trail. What follows the last whole line is not there yet.
func walk(dir string, see func(file string, line int, e Entry, err error) error) error {
	all, err := files(dir)
	if err != nil {
		return fmt.Errorf("read audit trail: %w", err)
	}
	for _, path := range all {
		if err := walkFile(path, see); err != nil {
			return err
		}
	}
	return nil
}

func walkFile(path string, see func(file string, line int, e Entry, err error) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // it became too old meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("read audit trail: %w", err)
	}
	defer f.Close()
	number := 0
	var stop error
	_, err = lines(f, func(line []byte) error {
		number++
		e, err := parse(line)
		stop = see(filepath.Base(path), number, e, err)
		return stop
	})
	if err != nil && stop == nil {
		return see(filepath.Base(path), number+1, Entry{}, err)
	}
	return stop
}
