package operator_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// judged is a Desk of a running host that is well, with three groups.
func judged(t *testing.T) operator.DeskOptions {
	t.Helper()
	l := groups.Layout{State: t.TempDir()}
	if err := os.MkdirAll(l.Errors(), 0o700); err != nil {
		t.Fatal(err)
	}
	return operator.DeskOptions{
		Layout: l, Running: true, Channels: []channel.Channel{memory.Full{Finding: memory.Finding{Channel: memory.New(memory.Options{Online: true})}}},
		Groups: func() []groups.Group {
			return []groups.Group{{Folder: "a", Assistant: "helper"}, {Folder: "b", Assistant: "helper"}, {Folder: "c", Assistant: "other"}}
		},
		Assistants: func() []operator.Assistant { return nil },
		Turns:      func(string) operator.Turns { return operator.Turns{Done: time.Now()} },
	}
}

func TestEachFaultIsNamedOnce(t *testing.T) {
	for want, spoil := range map[string]func(o *operator.DeskOptions){
		"channel_down of channel memory": func(o *operator.DeskOptions) { o.Channels[0].(memory.Full).Disconnect() },
		"key_not_accepted of assistant helper": func(o *operator.DeskOptions) {
			o.Assistants = func() []operator.Assistant {
				return []operator.Assistant{{Group: "b", State: "broken", Cause: "key_not_accepted", Permanent: true, Failures: 7}, {Group: "a", State: "waiting", Cause: "key_not_accepted", Permanent: true}}
			}
		},
		"busy of assistant other": func(o *operator.DeskOptions) {
			o.Assistants = func() []operator.Assistant {
				return []operator.Assistant{{Group: "c", State: "running", Cause: "busy"}}
			}
		},
		"engine_away of assistant helper": func(o *operator.DeskOptions) {
			o.Assistants = func() []operator.Assistant {
				return []operator.Assistant{{Group: "a", State: "waiting", Cause: "engine_away", Failures: 3}, {Group: "b", State: "waiting", Cause: "engine_away", Failures: 2}}
			}
		},
		"turns_broken of assistant other": func(o *operator.DeskOptions) {
			o.Assistants = func() []operator.Assistant {
				return []operator.Assistant{{Group: "a", State: "broken", Cause: "failed", Failures: 2}, {Group: "c", State: "broken", Cause: "failed", Failures: 3}}
			}
		},
		"disk_low of disk": func(o *operator.DeskOptions) { o.Floor = func() int64 { return 1 << 60 } },
		"clock_off of clock": func(o *operator.DeskOptions) {
			o.Ahead = func() (time.Duration, bool) { return -24 * time.Hour, true }
		},
		"config_refused of configuration": func(o *operator.DeskOptions) {
			o.Unapplied = func() *string { return new("longshore.yaml:3: no such key") }
		},
		"never_called of group c": func(o *operator.DeskOptions) {
			all := o.Groups()
			all[2].Trigger = "@Andy"
			o.Groups = func() []groups.Group { return all }
			o.Ignored = func(string) operator.Ignored { return operator.Ignored{NotCalled: 3} }
		},
		"chat_not_registered of channel phone": func(o *operator.DeskOptions) {
			o.Strangers = func() []operator.Stranger {
				return []operator.Stranger{{Channel: "phone", Chat: "a", Last: time.Now()}, {Channel: "phone", Chat: "b", Last: time.Now()}, {Channel: "other", Chat: "c", Last: time.Now().Add(-2 * time.Hour)}}
			}
		},
		"queue_waits of group b": func(o *operator.DeskOptions) {
			o.Stuck = func(folder string) (spool.Stuck, bool) {
				code := map[string]string{"a": "over_quota", "b": "disk_full"}[folder]
				return spool.Stuck{Request: "1", Since: time.Now().Add(-time.Hour), Why: ipc.Refusal{Code: code, Message: "no room for 5.5 MB"}}, code != ""
			}
		},
		"mount_missing of group a, /workspace/extra/docs": func(o *operator.DeskOptions) {
			o.Missing = func() []operator.Gone {
				return []operator.Gone{{Group: "a", Container: "/workspace/extra/docs", Host: "/srv/docs"}}
			}
		},
		"model_call_refused of group a": func(o *operator.DeskOptions) {
			o.Asked = func() []operator.Asked {
				return []operator.Asked{{Group: "a", Assistant: "claude", Names: []string{"plugins"}}}
			}
		},
		"groups_gone of configuration": func(o *operator.DeskOptions) {
			o.Lost = func() []string { return []string{"kids", "work"} }
		},
		"queue_unreadable of group b": func(o *operator.DeskOptions) { // the log alone knew
			dir := o.Layout.IPC("b", ipc.MessagesDir)
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		"errors_growing of errors folder": func(o *operator.DeskOptions) {
			refuse(t, o.Layout, 10, time.Now().Add(-time.Minute))
		},
	} {
		t.Run(want, func(t *testing.T) {
			o := judged(t)
			if f := operator.NewDesk(o).Faults(t.Context()); len(f.Now) != 0 || len(f.Unknown) != 0 {
				t.Fatalf("a host that is well: %+v", f)
			}
			spoil(&o)
			var ids []string
			for _, f := range operator.NewDesk(o).Faults(t.Context()).Now {
				ids = append(ids, f.ID())
				if f.Message == "" || f.Hint == "" {
					t.Errorf("%+v says too little", f)
				}
			}
			if diff := cmp.Diff([]string{want}, ids); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func refuse(t *testing.T, l groups.Layout, n int, at time.Time) {
	for i := range n {
		name := filepath.Join(l.Errors(), fmt.Sprintf("g-%d%s", i, operator.ReasonSuffix))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder with old requests is for the operator to clear, and no news.
func TestRequestsThatWereRefusedLongAgoAreNoFault(t *testing.T) {
	o := judged(t)
	refuse(t, o.Layout, 500, time.Now().Add(-2*time.Hour))
	if f := operator.NewDesk(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}

// After a start nobody knows whether the key is accepted by now: that is no end of the
// fault.
func TestAnAssistantWithoutATurnIsUnknown(t *testing.T) {
	o := judged(t)
	o.Turns = func(folder string) operator.Turns {
		if folder == "c" {
			return operator.Turns{Broke: time.Now()}
		}
		return operator.Turns{}
	}
	if diff := cmp.Diff([]string{"assistant helper"}, operator.NewDesk(o).Faults(t.Context()).Unknown); diff != "" {
		t.Error(diff)
	}
	o.Turns = func(folder string) operator.Turns {
		return operator.Turns{Done: map[string]time.Time{"a": time.Now(), "c": time.Now()}[folder]}
	}
	if f := operator.NewDesk(o).Faults(t.Context()); len(f.Unknown) != 0 {
		t.Errorf("one of its groups had a turn: %+v", f.Unknown)
	}
}

func TestWithoutAHostThereAreNoFaults(t *testing.T) {
	o := judged(t)
	o.Running = false
	o.Channels[0].(memory.Full).Disconnect()
	if f := operator.NewDesk(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}

// Once an assistant had a turn, its members know the trigger: that nobody calls it today
// is no fault, also after a restart.
func TestAGroupThatHasCalledItsAssistantMayTalkWithoutIt(t *testing.T) {
	o := judged(t)
	o.Groups = func() []groups.Group { return []groups.Group{{Folder: "a", Assistant: "helper", Trigger: "@Andy"}} }
	o.Ignored = func(string) operator.Ignored { return operator.Ignored{NotCalled: 100} }
	dir := filepath.Join(o.Layout.Logs(), "a")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "assistant.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := operator.NewDesk(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}
