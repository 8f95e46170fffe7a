// Package feed is the host's end of an assistant that shares no directory with it: what
// agentrunner's package sshside takes on its standard input. It hands over the members' files
// that prompts name, the start document and the follow-ups, and reads back which follow-ups
// the assistant has read.
package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Feeder feeds one session. All fields are needed. Its methods may be called concurrently,
// after Open.
type Feeder struct {
	Spec  runtime.Spec
	Mark  string    // begins the far program's own lines on stderr; nobody can guess it
	To    io.Writer // its standard input
	Break io.Closer // the connection: closed after a frame that was cut off
	Log   *slog.Logger

	writing sync.Mutex // a frame at a time
	handed  handed
}

// Environment is what an assistant's programs learn beside what the machine or the image
// says.
func Environment(spec runtime.Spec) map[string]string {
	env := map[string]string{"TZ": cmp.Or(spec.TZ, "UTC"), "LONGSHORE_CHAT_JID": string(spec.Group.Chat), "LONGSHORE_IS_MAIN": "0"}
	if spec.Group.Main {
		env["LONGSHORE_IS_MAIN"] = "1"
	}
	for name, value := range spec.Env {
		env[name] = value
	}
	return env
}

// Open begins the session: it hands over the files that the first prompt names, and the
// start document.
func (f *Feeder) Open(begin sshside.Begin) error {
	var document struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(f.Spec.Input, &document); err != nil {
		return fmt.Errorf("read the start document: %w", err)
	}
	if err := f.Write(sshside.Frame{Kind: sshside.KindBegin, Begin: &begin}, nil); err != nil {
		return err
	}
	f.bring(document.Prompt)
	return f.Write(sshside.Frame{Kind: sshside.KindDocument, Size: int64(len(f.Spec.Input))}, bytes.NewReader(f.Spec.Input))
}

// Write writes a frame.
func (f *Feeder) Write(frame sshside.Frame, content io.Reader) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return sshside.Write(f.To, frame, content)
}

const (
	every       = 100 * time.Millisecond // how often the follow-ups are looked for
	maxFollowUp = 16 << 20
)

// inputs is the directory of the follow-ups. It is the host's own: nobody else writes to it.
func (f *Feeder) inputs() string { return filepath.Join(f.Spec.IPC, "input") }

// Run hands follow-ups over as they appear, with the files that they name, until ctx is
// done or the connection breaks.
func (f *Feeder) Run(ctx context.Context) {
	for range wake.Every(ctx, every) {
		names, err := f.fresh()
		for _, name := range names {
			if err = f.handOver(name); err != nil {
				break
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				f.Log.Warn("follow-up not handed over", "error", err)
			}
			return
		}
	}
}

// fresh lists the follow-ups that are not handed over yet, in their order; the mark that
// ends the session comes last.
func (f *Feeder) fresh() (names []string, err error) {
	entries, err := safefs.ReadDir(f.inputs())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if n := e.Name(); !f.handed.has(n) && (n == closeFile || strings.HasSuffix(n, ".json") && !strings.HasPrefix(n, ".")) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f *Feeder) handOver(name string) error {
	text, err := readBounded(f.input(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var input struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(text, &input) == nil {
		f.bring(input.Text)
	}
	if ok, err := f.begin(name); !ok {
		return err
	}
	return f.Write(sshside.Frame{Kind: sshside.KindInput, Name: name, Size: int64(len(text))}, bytes.NewReader(text))
}

func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFollowUp+1))
	if err == nil && len(text) > maxFollowUp {
		err = errors.New("the follow-up is too long")
	}
	return text, err
}

// bring copies the members' files that a prompt names into the assistant's workspace. One
// that cannot be copied is missing there, which the log says.
func (f *Feeder) bring(prompt string) {
	for _, m := range agent.Messages(prompt) {
		for _, named := range slices.Concat(m.Files, m.Quoted) {
			name, ok := strings.CutPrefix(path.Clean(named.Path), mounts.Workspace+"/group/")
			if !ok || named.Missing != "" {
				continue
			}
			if err := f.bringFile(name); err != nil {
				f.Log.Warn("a member's file does not reach the assistant", "error", err)
			}
		}
	}
}

func (f *Feeder) bringFile(name string) error {
	root, err := safefs.OpenRoot(f.Spec.WorkDir)
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(errors.New("it is no plain file"), err)
	}
	err = f.Write(sshside.Frame{Kind: sshside.KindFile, Name: name, Size: info.Size()}, file)
	if err != nil { // a frame was cut off: nothing can follow it
		_ = f.Break.Close()
	}
	return err
}
