package spool

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// The snapshots that agents of NanoClaw v1 read, in the group's queue directory.
const (
	tasksSnapshot  = "current_tasks.json"
	groupsSnapshot = "available_groups.json"
)

// groupSnapshot is one entry of available_groups.json.
type groupSnapshot struct {
	Chat       string `json:"jid"`
	Name       string `json:"name"`
	Active     string `json:"lastActivity"` // unknown here; empty
	Registered bool   `json:"isRegistered"`
}

// TaskSnapshot is one entry of current_tasks.json.
type TaskSnapshot struct {
	ID     string     `json:"id"`
	Folder string     `json:"groupFolder"`
	Prompt string     `json:"prompt"`
	Type   string     `json:"schedule_type"`
	Value  string     `json:"schedule_value"`
	Status string     `json:"status"`
	Next   *time.Time `json:"next_run"` // nil: it is not due
}

// WriteSnapshots writes the files in which NanoClaw v1's agents read about their
// host: the scheduled tasks and the chats. Only the main group may know the chats and
// the tasks of others; the caller passes none for other groups. A link in the place of
// either file is replaced, never followed.
func (s *Spool) WriteSnapshots(folder string, chats []ipc.ChatInfo, tasks []TaskSnapshot) error {
	if tasks == nil {
		tasks = []TaskSnapshot{}
	}
	known := make([]groupSnapshot, 0, len(chats))
	for _, c := range chats {
		known = append(known, groupSnapshot{Chat: c.Chat, Name: c.Name, Registered: true})
	}
	for name, v := range map[string]any{
		tasksSnapshot:  tasks,
		groupsSnapshot: map[string]any{"groups": known, "lastSync": time.Now().UTC()},
	} {
		if err := s.writeSnapshot(folder, name, v); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func (s *Spool) writeSnapshot(folder, name string, v any) error {
	g, ok := s.all()[folder]
	if !ok {
		return fmt.Errorf("group %s: %w", folder, ErrNotServed)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	queue, err := g.dirs.base.dir()
	if err != nil {
		return err
	}
	dir, err := safefs.OpenDir(queue, folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return replaceFile(dir, name, append(b, '\n'))
}
