package turns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// closeFile asks the assistant to end; the name is NanoClaw v1's.
const closeFile = "_close"

// inputs is a group's input directory, through which messages reach a running assistant:
//
//	input/<epoch ms>-<counter>.json  {"type":"message","text":…}, removed by the assistant once read
//	input/<…>.json.handed            handed to an assistant that shares no directory, and perhaps read
//	input/_close                     asks it to end
//
// The assistant may write there too, so names are untrusted unless this host has chosen
// them.
type inputs struct {
	dir  string
	mu   sync.Mutex
	last int64
	n    int
}

// next is the name of the next follow-up. Names sort in the order of the calls.
func (in *inputs) next() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last = max(in.last, time.Now().UnixMilli())
	in.n++
	return fmt.Sprintf("%d-%06d.json", in.last, in.n%1_000_000)
}

// write puts a follow-up into the directory, whole or not at all.
func (in *inputs) write(name, text string) error {
	data, err := json.Marshal(map[string]string{"type": "message", "text": text})
	if err != nil {
		return err
	}
	return in.put(name, data)
}

// close asks the assistant to end.
func (in *inputs) close() error { return in.put(closeFile, nil) }

func (in *inputs) put(name string, data []byte) error {
	root, err := safefs.OpenDirAt(in.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tmp := "." + name + ".tmp"
	root.Remove(tmp) // of an earlier try, or planted
	f, err := safefs.CreateNew(root, tmp, groups.Agent())
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, name) // replaces a link that lies there, never follows it
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}

// unread lists the follow-ups that a running assistant may still read.
func (in *inputs) unread() map[string]bool {
	return in.those(func(*os.Root, string) bool { return true })
}

// neverRead lists the follow-ups that an assistant which has ended had not read.
func (in *inputs) neverRead() map[string]bool {
	return in.those(func(_ *os.Root, name string) bool { return !handed(name) })
}

// drain empties the directory and returns what neverRead would. It is called while no
// assistant runs.
func (in *inputs) drain() map[string]bool {
	return in.those(func(root *os.Root, name string) bool {
		err := root.Remove(name)
		return !handed(name) && (err == nil || !errors.Is(err, fs.ErrNotExist))
	})
}

// handed reports whether the follow-up of that file was handed over, and may have been read.
func handed(name string) bool { return strings.HasSuffix(name, ipc.HandedSuffix) }

// those returns the follow-ups for whose files is returns true; none if the directory cannot
// be opened.
func (in *inputs) those(is func(root *os.Root, name string) bool) map[string]bool {
	names := map[string]bool{}
	root, err := safefs.OpenDirAt(in.dir)
	if err != nil {
		return names
	}
	defer root.Close()
	for _, name := range list(root, isInput) {
		if is(root, name) {
			names[strings.TrimSuffix(name, ipc.HandedSuffix)] = true
		}
	}
	return names
}

// isInput reports whether an entry of the directory is the host's.
func isInput(name string) bool {
	return name == closeFile || strings.HasSuffix(strings.TrimSuffix(name, ipc.HandedSuffix), ipc.Suffix)
}

// list returns the names in a directory for which is returns true: of its first 100,000, because
// the assistant may have filled it.
func list(root *os.Root, is func(name string) bool) (names []string) {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	const most = 100_000
	all, _ := dir.Readdirnames(most)
	for _, name := range all {
		if is(name) {
			names = append(names, name)
		}
	}
	return names
}

// inputsOf returns the input directory of a chat's assistant in that place.
func (m *Manager) inputsOf(c *chat, place int) *inputs {
	if place == 0 {
		return &inputs{dir: m.o.Layout.IPC(c.group.Folder, ipc.InputDir)}
	}
	return &inputs{dir: filepath.Join(m.o.Layout.Place(c.group.Folder, place), ipc.InputDir)}
}
