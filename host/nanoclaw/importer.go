// Package nanoclaw reads the root of a NanoClaw v1 installation and makes the
// longshore.yaml that serves it.
//
//	store/messages.db              registered_groups, in either version of its schema
//	data/registered_groups.json    the same in older installations
//	.env                           the settings that have a counterpart
//	~/.config/nanoclaw/mount-allowlist.json   which further mounts are allowed
//
// [Read] reads the installation; [Found.Plan] decides what to import. A plan is
// checked by parsing its own configuration: entries that [config.Parse] would
// refuse are left out and reported, so the result is valid.
//
// Rows are untrusted text, since v1's main group may write in its own database.
// The package changes nothing in the directory, not even SQLite's side files:
// it reads a copy of the database. It does not import messages, the channels'
// sessions or scheduled tasks, and writes no file.
package nanoclaw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/host/channel"
)

// ErrNoGroups means that a directory holds neither form of the registry. It is
// permanent.
var ErrNoGroups = errors.New("there is neither store/messages.db with registered groups nor data/registered_groups.json")

// Options are the settings of Read.
type Options struct {
	Allowlist string              // path of the mount allowlist; empty: v1's usual path
	Getenv    func(string) string // nil: os.Getenv
	Platforms []channel.Platform  // platforms that the configuration may name
	Localtime string              // link to the machine's time zone; empty: /etc/localtime
}

// Found is the content of an installation.
type Found struct {
	Dir    string // absolute, free of links
	Source string // file that the groups were read from, relative to Dir
	Rows   []Row
	Knobs  map[string]string // of .env
	Tasks  int               // number of active scheduled tasks
	Notes  []string          // remarks for the operator

	allow   *allowlist // nil: v1 has none, and mounts no further directories
	options Options
}

// Row is one registered group as in v1, unchecked.
type Row struct {
	Chat, Name, Folder, Trigger string
	Config                      string // JSON of containerConfig; may be empty
	NeedsTrigger, Main          bool
}

// Read reads the installation at dir. The error is ErrNoGroups if dir is not
// such an installation. Every error is permanent, except those of the file
// system.
func Read(ctx context.Context, dir string, o Options) (*Found, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Localtime = cmp.Or(o.Localtime, "/etc/localtime")
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find NanoClaw v1: %w", err)
	}
	f := &Found{Dir: dir, options: o}
	if err := f.readGroups(ctx); err != nil {
		return nil, err
	}
	if f.Knobs, err = readKnobs(filepath.Join(dir, ".env")); err != nil {
		return nil, err
	}
	return f, f.readAllowlist(o.Allowlist)
}

// readGroups prefers the database, as v1 has done since it has one.
func (f *Found) readGroups(ctx context.Context) error {
	found, err := f.readDatabase(ctx)
	if found || err != nil {
		return err
	}
	text, err := readSmall(filepath.Join(f.Dir, registryFile), maxRegistry)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", f.Dir, ErrNoGroups)
	}
	if err == nil {
		f.Source = registryFile
		f.Rows, err = decodeRegistry(text)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", registryFile, err)
	}
	return nil
}

func (f *Found) readAllowlist(path string) error {
	given := path != ""
	dir := filepath.Join(f.options.Getenv("HOME"), ".config", "nanoclaw")
	if !given {
		path = filepath.Join(dir, "mount-allowlist.json")
	}
	text, err := readSmall(path, maxRegistry)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !given:
	case err != nil:
		return fmt.Errorf("read mount allowlist: %w", err)
	default:
		if f.allow, err = decodeAllowlist(text); err != nil {
			return fmt.Errorf("read mount allowlist: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sender-allowlist.json")); err == nil {
		f.note("the sender allowlist has no counterpart: the assistant reads every member of a group's chat")
	}
	return nil
}

func (f *Found) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// readSmall reads a plain file of at most most bytes. It does not wait for the
// other end of a pipe.
func readSmall(path string, most int64) ([]byte, error) {
	file, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return b, err
}

func openPlain(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a plain file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// maxKnobs is the largest .env, in bytes.
const maxKnobs = 64 << 10

// readKnobs reads KEY=value lines.
func readKnobs(path string) (map[string]string, error) {
	text, err := readSmall(path, maxKnobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read .env: %w", err)
	}
	knobs := make(map[string]string)
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		knobs[strings.TrimSpace(key)] = value
	}
	return knobs, nil
}
