package ssh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/far"
)

// feedEvery is how often the follow-ups are looked for. The directory is the host's own:
// nobody else writes to it.
const feedEvery = 100 * time.Millisecond

const maxFollowUp = 16 << 20

func (s *session) inputs() string { return filepath.Join(s.spec.IPC, "input") }

// feed hands follow-ups over as they appear, with the files that they name.
func (s *session) feed(ctx context.Context) {
	tick := time.NewTicker(feedEvery)
	defer tick.Stop()
	handed := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		entries, err := os.ReadDir(s.inputs())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			s.log.Warn("follow-ups not found", "error", err)
			return
		}
		names := []string{}
		for _, e := range entries { // those of the host sort in their order, and _close comes last
			if n := e.Name(); !handed[n] && (n == "_close" || strings.HasSuffix(n, ".json") && !strings.HasPrefix(n, ".")) {
				names = append(names, n)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if err := s.handOver(name); err != nil {
				if ctx.Err() == nil {
					s.log.Warn("follow-up not handed over", "error", err)
				}
				return // the connection is broken; what was not read goes to the next session
			}
			handed[name] = true
		}
	}
}

func (s *session) handOver(name string) error {
	text, err := readBounded(filepath.Join(s.inputs(), name))
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
		s.bring(input.Text)
	}
	return s.write(far.Frame{Kind: far.KindInput, Name: name, Size: int64(len(text))}, bytes.NewReader(text))
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFollowUp+1))
	if err == nil && len(text) > maxFollowUp {
		err = errors.New("the follow-up is too long")
	}
	return text, err
}

// workspace is where prompts name the group's files.
const workspace = "/workspace/group"

// bring copies the members' files that a prompt names into the far workspace. One that
// cannot be copied is missing there, which the log says.
func (s *session) bring(prompt string) {
	for _, m := range agent.Messages(prompt) {
		for _, f := range slices.Concat(m.Files, m.Quoted) {
			name, ok := strings.CutPrefix(path.Clean(f.Path), workspace+"/")
			if !ok || f.Missing != "" {
				continue
			}
			if err := s.bringFile(name); err != nil {
				s.log.Warn("a member's file is not on the assistant's machine", "error", err)
			}
		}
	}
}

func (s *session) bringFile(name string) error {
	root, err := os.OpenRoot(s.spec.WorkDir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(errors.New("it is no plain file"), err)
	}
	err = s.write(far.Frame{Kind: far.KindFile, Name: name, Size: info.Size()}, f)
	if err != nil { // a frame was cut off: nothing can follow it
		s.conn.client.Close()
	}
	return err
}
