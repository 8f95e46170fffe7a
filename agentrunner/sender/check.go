package sender

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// checkedFile is an open file that passed all checks.
type checkedFile struct {
	claim     File
	file      *os.File
	info      media.Info
	container string // path for the request; empty: the file must be staged
	origin    string // path as it was asked for, and the real one if a link led there
	linked    bool   // a link led there
	limit     int64  // largest size of its kind, in bytes; 0: unknown here
}

// check opens a file and applies the checks that the host will apply. The caller
// closes checkedFile.file. An error that the caller can act on is a *Problem.
func (s *Sender) check(f File, host hostView) (checkedFile, error) {
	local, err := s.localPath(f.Path)
	if err != nil {
		return checkedFile{}, err
	}
	if !utf8.ValidString(f.Path + f.Name + f.Caption + f.Alt + f.MIME) {
		return checkedFile{}, problem("invalid_argument", "path, name or caption is not valid UTF-8", "rename the file or correct the text")
	}
	file, stat, real, err := s.open(local, f.Path, host)
	if err != nil {
		return checkedFile{}, err
	}
	c := checkedFile{claim: f, file: file, origin: originOf(f.Path, local, real), linked: local != real}
	if err := c.classify(stat.Size(), host); err != nil {
		file.Close()
		return checkedFile{}, err
	}
	if links(stat) == 1 {
		if path, ok := s.config.container(real); ok && shared(path, host.mounts()) && !(s.config.DropDir && under(path, dropDir)) {
			c.container = path
		}
	}
	return c, nil
}

// originOf is a path as it was asked for, and the real one if a link led there, as ls -l writes it.
func originOf(named, local, real string) string {
	switch both := named + " -> " + real; {
	case local == real:
		return named
	case len(both) > ipc.MaxPath:
		return real
	default:
		return both
	}
}

// open opens a file that may be sent and returns its real path. It does not open a
// path that may not be sent, so the answer says nothing about such a file.
func (s *Sender) open(local, named string, host hostView) (file *os.File, stat fs.FileInfo, real string, err error) {
	places := s.places(host)
	if err := places.admit(resolved(local), local, named); err != nil {
		return nil, nil, "", err
	}
	if other := safefs.Spelled(local, isThere); other != local {
		return s.open(other, named, host)
	}
	if file, stat, err = open(local, named); err != nil {
		return nil, nil, "", err
	}
	if real, err = openedPath(file, stat, local); err != nil {
		err = openProblem(fs.ErrNotExist, local, named) // the file was moved meanwhile
	} else {
		err = places.admit(real, local, named)
	}
	if err != nil {
		file.Close()
		return nil, nil, "", err
	}
	return file, stat, real, nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// open opens without waiting for the other end of a FIFO, and refuses everything
// that is not a plain file with content. named is the path as the caller gave it.
func open(local, named string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, openProblem(err, local, named)
	}
	stat, err := file.Stat()
	if err == nil {
		err = plain(stat, named)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, stat, nil
}

func openProblem(err error, local, named string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return problem("not_found", "there is no file "+quoted(named), notFoundHint(local))
	case errors.Is(err, fs.ErrPermission):
		return problem("unreadable", quoted(named)+" is not readable for this user", "make it readable (chmod a+r) or send a copy of it")
	case errors.Is(err, syscall.ELOOP):
		return problem("not_found", quoted(named)+" is a link that leads back to itself", "send the file that was meant")
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return problem("not_regular", quoted(named)+" is not a plain file", "write its content into a file and send that")
	}
	return problem("unreadable", quoted(named)+" cannot be opened: "+errno(err), "check the path, or send a copy of the file")
}

// errno returns the cause of an error without the path that package os puts
// before it.
func errno(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// notFoundHint names a file in the same directory whose name differs only in case or
// extension, which is the most common mistake.
func notFoundHint(local string) string {
	const hint = "check the path; relative paths start at the working directory"
	dir, err := os.Open(filepath.Dir(local))
	if err != nil {
		return hint
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(1000)
	stem := strings.ToLower(strings.TrimSuffix(filepath.Base(local), filepath.Ext(local)))
	for _, name := range names {
		if strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))) == stem {
			return "did you mean " + quoted(name) + " in the same directory?"
		}
	}
	return hint
}

func plain(stat fs.FileInfo, named string) error {
	switch {
	case stat.IsDir():
		return problem("is_directory", quoted(named)+" is a directory", "send the files in it one by one, or pack it into an archive first")
	case !stat.Mode().IsRegular():
		return problem("not_regular", quoted(named)+" is not a plain file", "write its content into a file and send that")
	case stat.Size() == 0:
		return problem("empty_file", quoted(named)+" is empty", "write its content first; close the file before you send it")
	}
	return nil
}

func (c *checkedFile) classify(size int64, host hostView) error {
	head := make([]byte, media.HeadSize)
	n, err := io.ReadFull(io.NewSectionReader(c.file, 0, size), head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return problem("unreadable", quoted(c.claim.Path)+" cannot be read: "+errno(err), "send a copy of the file")
	}
	name := cmp.Or(c.claim.Name, filepath.Base(strings.TrimRight(c.claim.Path, "/")))
	info, err := media.Classify(name, c.claim.MIME, head[:n], size, media.Style(c.claim.As))
	if err != nil {
		return asProblem(err)
	}
	c.info = info
	c.limit = host.limit(info.Kind)
	return c.fits(host)
}

// fits returns a Problem with limit and remedy if the file is too large for its
// kind. If the host has published no limits, only the host checks.
func (c *checkedFile) fits(host hostView) error {
	if len(host.context.Limits) == 0 {
		return nil
	}
	limits := media.Limits{Kinds: map[media.Kind]media.Limit{}, LargeAsDocument: host.context.LargeAsDocument}
	for kind, bytes := range host.context.Limits {
		limits.Kinds[media.Kind(kind)] = media.Limit{Bytes: bytes, MIME: host.context.Types[kind]}
	}
	info, err := limits.Fit(host.channel(), c.info)
	if err == nil {
		c.info, c.limit = info, host.limit(info.Kind)
	} else if c.mayShrink(host) || c.mayBeLink(host, err) {
		return nil
	}
	return asProblem(err)
}

// mayShrink says whether the host may make a picture that is too large smaller.
func (c *checkedFile) mayShrink(host hostView) bool {
	return host.context.Converts && c.info.Kind == media.Image && c.limit > 0 && (c.claim.As == "" || c.claim.As == string(media.Auto))
}

// mayBeLink says whether the host sends a file that is too large as a link instead.
func (c *checkedFile) mayBeLink(host hostView, err error) bool {
	var large *media.LimitError
	links := host.context.Links
	if links == nil || !errors.As(err, &large) || large.Limit == 0 || large.AsDocument || c.info.Size > links.MaxBytes {
		return false
	}
	c.limit = links.MaxBytes
	return true
}
