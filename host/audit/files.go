package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// fileKeeper keeps the trail in files of a directory, each named after the number of its first line.
type fileKeeper struct {
	dir  string
	mark string // see Gone
	most int64  // bytes of a file
	log  *slog.Logger

	mu   sync.Mutex
	file *os.File // the newest; nil: there is none
	size int64
	last int          // bytes of the last line
	torn bool         // behind size stands what a write left that failed half way
	out  bytes.Buffer // what put writes: its memory is used again

	secret []byte // that key has returned
	gone   bool   // files were deleted, before end or since: those since then are in new ones

	found *Broken // the first line that is not as it was written, of those that end read; nil: there is none
	whole int64   // the entries before it
}

func (k *fileKeeper) key() (_ []byte, err error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, err
	}
	k.secret, err = keyIn(k.dir)
	return k.secret, err
}

// Gone reports whether files of a trail in a directory were deleted: mark, a file elsewhere, has the number of the
// newest one, which no expiry deletes.
func Gone(dir, mark string) bool {
	text, err := os.ReadFile(mark)
	marked, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // what is no number says nothing
	all, failed := files(dir)
	return err == nil && failed == nil && marked > 0 && (len(all) == 0 || numberOf(all[len(all)-1]) < marked)
}

// begun notes the newest file for Gone.
func (k *fileKeeper) begun(path string) {
	if k.mark == "" {
		return
	}
	text := fmt.Appendln(nil, numberOf(path))
	old, err := os.ReadFile(k.mark)
	if !bytes.Equal(old, text) && (err == nil || errors.Is(err, fs.ErrNotExist)) { // the doctor names one that is closed
		err = safefs.WriteFile(k.mark, text, 0o600)
	}
	if err != nil {
		k.log.Error("the note of the newest file of the audit trail cannot be written: without it, a deleted trail is not noticed", "error", err)
	}
}

func (k *fileKeeper) end(see func(Entry)) (number int64, hash string, cut int64, err error) {
	all, err := files(k.dir)
	if k.gone = Gone(k.dir, k.mark); k.gone {
		k.log.Error("files of the audit trail are gone", "directory", k.dir)
	}
	if err != nil || len(all) == 0 {
		return 0, "", 0, err
	}
	newest := all[len(all)-1]
	var s Summary
	read := all[max(0, len(all)-2):]
	for _, path := range read {
		at := place{file: filepath.Base(path), first: numberOf(path)}
		k.size, cut, err = readEnd(path, func(line []byte) {
			e, err := parse(line)
			at.line++
			if k.found == nil {
				k.found = s.next(e, err, at)
				k.whole = s.Entries + numberOf(read[0]) - numberOf(all[0])
			}
			at.first = 0
			if err != nil {
				e.Hash = hashOf(line) // the chain goes on from what is there; Verify names the line
			}
			number, hash, k.last = max(number+1, e.Number), e.Hash, len(line)
			see(e)
		})
		if err != nil {
			return 0, "", 0, fmt.Errorf("read %s, which may be moved away: %w", path, err)
		}
	}
	if k.found != nil {
		k.log.Error("a line of the audit trail is broken", "error", k.found)
	}
	if number == 0 { // the first line of this file was cut off: its name has its number
		number = numberOf(newest) - 1
	}
	k.begun(newest)
	if k.file, err = os.OpenFile(newest, os.O_WRONLY|os.O_APPEND, 0); err == nil && cut > 0 {
		if err = k.file.Truncate(k.size); err != nil {
			err = errors.Join(err, k.file.Close())
		}
	}
	return number, hash, cut, err
}

// Check returns why Open would fail on a trail in the files of a directory, and how many bytes of a
// line that was not written whole it would remove. It changes nothing.
func Check(dir string) (torn int64, err error) {
	if _, err = readKey(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	all, err := files(dir)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	newest := all[len(all)-1]
	if err := safefs.Writable(newest, false); err != nil {
		return 0, err
	}
	_, torn, err = readEnd(newest, func([]byte) {})
	return torn, err
}

// readEnd calls see with the whole lines of a file. It returns how many bytes stand before and after the
// end of the last one.
func readEnd(path string, see func(line []byte)) (whole, torn int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	whole, err = lines(f, func(line []byte) error { see(line); return nil })
	if err != nil {
		return 0, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	return whole, info.Size() - whole, nil
}

func (k *fileKeeper) put(number int64, hash string, all []Entry) (int64, string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out.Reset()
	last, end, err := chain(&k.out, number, hash, all)
	if err == nil {
		err = k.append(number+1, k.out.Bytes())
	}
	if err != nil {
		return number, hash, err
	}
	if k.out.Cap() > maxLine { // many entries waited for the disk
		k.out = bytes.Buffer{}
	}
	return last, end, nil
}

// append writes whole lines, of which the first has that number. The caller holds mu.
func (k *fileKeeper) append(first int64, lines []byte) error {
	if err := k.mend(); err != nil {
		return err
	}
	if err := k.rotate(first); err != nil {
		return err
	}
	n, err := k.file.Write(lines)
	if err != nil {
		k.torn = k.torn || n > 0
		return err
	}
	k.size, k.last = k.size+int64(n), n-1-bytes.LastIndexByte(lines[:n-1], '\n')
	return nil
}

// deleted reports whether the newest file was, and not the state directory with it, of which others say so.
func (k *fileKeeper) deleted() bool {
	if k.file == nil {
		return false
	}
	_, err := os.Stat(k.file.Name())
	_, above := os.Stat(filepath.Dir(k.dir))
	return errors.Is(err, fs.ErrNotExist) && above == nil
}

// broken returns where the end of the newest file is not what put has written, whose last line has that number
// and hash; nil if it is. gone: files were deleted.
func (k *fileKeeper) broken(number int64, hash string) (at *Broken, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone || k.deleted() {
		return &Broken{Gone: true, Why: "files of it were deleted"}, true
	}
	if k.file == nil || k.torn || k.size == 0 {
		return nil, false
	}
	name := k.file.Name()
	at = &Broken{File: filepath.Base(name), Line: int(number-numberOf(name)) + 1}
	f, err := os.Open(name)
	if err != nil { // others say that the state is closed or gone
		return nil, false
	}
	defer f.Close()
	line := make([]byte, k.last)
	if info, err := f.Stat(); err != nil || info.Size() != k.size {
		at.Why = "another program has cut it off, or written behind it"
		return at, false
	}
	var e Entry
	if _, err = f.ReadAt(line, k.size-int64(k.last)); err == nil {
		e, err = parse(line)
	}
	if err == nil && e.Hash == hash {
		return nil, false
	}
	at.Why = fmt.Sprint(cmp.Or(err, errors.New("the line was changed: its hash is another one")))
	return at, false
}

// mend removes what a write left that failed half way: behind it, no line would be whole.
func (k *fileKeeper) mend() error {
	if !k.torn {
		return nil
	}
	err := k.file.Truncate(k.size)
	k.torn = err != nil
	return err
}

// rotate begins the first file, or the next one if this one is full or was deleted.
func (k *fileKeeper) rotate(first int64) error {
	deleted := k.deleted()
	if k.file != nil && k.size < k.most && !deleted {
		return nil
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	if err := safefs.WriteNew(filepath.Join(k.dir, "key"), k.secret, 0o600); err != nil {
		return err
	}
	next, err := os.OpenFile(filepath.Join(k.dir, fmt.Sprintf("%012d.jsonl", first)), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if k.file != nil {
		err = errors.Join(k.file.Sync(), k.file.Close())
	}
	k.file, k.size, k.gone = next, 0, k.gone || deleted
	k.begun(next.Name())
	return errors.Join(err, safefs.SyncDir(k.dir))
}

func (k *fileKeeper) sync() error {
	k.mu.Lock()
	f := k.file
	k.mu.Unlock()
	if err := f.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) { // rotate has synced it
		return err
	}
	return nil
}

// expire removes the files whose newest line is too old, but never the newest file.
func (k *fileKeeper) expire(keep time.Duration) error {
	all, err := files(k.dir)
	if err != nil {
		return err
	}
	for _, path := range all[:max(0, len(all)-1)] {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < keep {
			return err
		}
		k.log.Info("an old file of the audit trail is removed", "file", filepath.Base(path))
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (k *fileKeeper) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}
