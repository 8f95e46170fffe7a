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
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// judged is a running host that is well, with three groups.
func judged(t *testing.T) (operator.Options, *rooms) {
	t.Helper()
	l := groups.Layout{State: t.TempDir()}
	if err := os.MkdirAll(l.Errors(), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &rooms{groups: []groups.Group{{Folder: "a", Assistant: "helper"}, {Folder: "b", Assistant: "helper"}, {Folder: "c", Assistant: "other"}}}
	return r.options(l, memory.Full{Finding: memory.Finding{Channel: memory.New(memory.Options{Online: true})}}), r
}

func TestEachFaultIsNamedOnce(t *testing.T) {
	for want, spoil := range map[string]func(o operator.Options, r *rooms){
		"channel_down of channel memory": func(o operator.Options, _ *rooms) { o.Channels[0].(memory.Full).Disconnect() },
		"key_not_accepted of assistant helper": func(_ operator.Options, r *rooms) {
			r.status = []turns.Status{{Folder: "b", State: "idle", LastError: "401", Cause: cause.Key, Failures: 7}, {Folder: "a", State: "waiting", Cause: cause.Key}}
		},
		"busy of assistant other": func(_ operator.Options, r *rooms) {
			r.status = []turns.Status{{Folder: "c", State: "running", Cause: "busy"}}
		},
		"engine_away of assistant helper": func(_ operator.Options, r *rooms) {
			r.status = []turns.Status{{Folder: "a", State: "waiting", Cause: "engine_away", Failures: 3}, {Folder: "b", State: "waiting", Cause: "engine_away", Failures: 2}}
		},
		"turns_broken of assistant other": func(_ operator.Options, r *rooms) {
			r.status = []turns.Status{{Folder: "a", State: "idle", LastError: "exit 1", Cause: "failed", Failures: 2}, {Folder: "c", State: "idle", LastError: "exit 1", Cause: "failed", Failures: 3}}
		},
		"backup_failed of backup": func(_ operator.Options, r *rooms) {
			r.backup = operator.Backup{Problem: "the disk is full"}
		},
		"disk_low of disk":                func(_ operator.Options, r *rooms) { r.freeDisk = 1 << 60 },
		"clock_off of clock":              func(_ operator.Options, r *rooms) { r.ahead = -24 * time.Hour },
		"config_refused of configuration": func(_ operator.Options, r *rooms) { r.unapplied = new("longshore.yaml:3: no such key") },
		"never_called of group c": func(_ operator.Options, r *rooms) {
			r.groups[2].Trigger, r.notCalled = "@Andy", 3
		},
		"chat_not_registered of channel phone": func(_ operator.Options, r *rooms) {
			r.unknown = []operator.UnknownChat{{Channel: "phone", Chat: "a", Last: time.Now()}, {Channel: "phone", Chat: "b", Last: time.Now()}, {Channel: "other", Chat: "c", Last: time.Now().Add(-2 * time.Hour)}}
		},
		"queue_waits of group b": func(_ operator.Options, r *rooms) {
			r.stuck = map[string]spool.Stuck{}
			for folder, code := range map[string]string{"a": "over_quota", "b": "disk_full"} {
				r.stuck[folder] = spool.Stuck{Request: "1", Since: time.Now().Add(-time.Hour), Why: ipc.Refusal{Code: code, Message: "no room for 5.5 MB"}}
			}
		},
		"mount_missing of group a, /workspace/extra/docs": func(_ operator.Options, r *rooms) {
			r.missing = []operator.MissingMount{{Group: "a", Container: "/workspace/extra/docs", Host: "/srv/docs"}}
		},
		"model_call_refused of group a": func(_ operator.Options, r *rooms) {
			r.calls = []operator.RefusedCall{{Group: "a", Assistant: "claude", Names: []string{"plugins"}}}
		},
		"groups_gone of configuration": func(_ operator.Options, r *rooms) { r.lost = []string{"kids", "work"} },
		"queue_unreadable of group b": func(o operator.Options, _ *rooms) { // the log alone knew
			dir := o.Layout.IPC("b", ipc.MessagesDir)
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		"errors_growing of errors folder": func(o operator.Options, _ *rooms) {
			refuse(t, o.Layout, 10, time.Now().Add(-time.Minute))
		},
	} {
		t.Run(want, func(t *testing.T) {
			o, r := judged(t)
			if f := operator.NewLocal(o).Faults(t.Context()); len(f.Now) != 0 || len(f.Unknown) != 0 {
				t.Fatalf("a host that is well: %+v", f)
			}
			spoil(o, r)
			var ids []string
			for _, f := range operator.NewLocal(o).Faults(t.Context()).Now {
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
	o, _ := judged(t)
	refuse(t, o.Layout, 500, time.Now().Add(-2*time.Hour))
	if f := operator.NewLocal(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}

// After a start nobody knows whether the key is accepted by now: that is no end of the
// fault.
func TestAnAssistantWithoutATurnIsUnknown(t *testing.T) {
	o, r := judged(t)
	r.turns = map[string]turns.Turns{"c": {Broke: time.Now()}}
	if diff := cmp.Diff([]string{"assistant helper"}, operator.NewLocal(o).Faults(t.Context()).Unknown); diff != "" {
		t.Error(diff)
	}
	r.turns = map[string]turns.Turns{"a": {Done: time.Now()}, "c": {Done: time.Now()}}
	if f := operator.NewLocal(o).Faults(t.Context()); len(f.Unknown) != 0 {
		t.Errorf("one of its groups had a turn: %+v", f.Unknown)
	}
}

func TestWithoutAHostThereAreNoFaults(t *testing.T) {
	o, _ := judged(t)
	o.Running = nil
	o.Channels[0].(memory.Full).Disconnect()
	if f := operator.NewLocal(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}

// Once an assistant had a turn, its members know the trigger: that nobody calls it today
// is no fault, also after a restart.
func TestAGroupThatHasCalledItsAssistantMayTalkWithoutIt(t *testing.T) {
	o, r := judged(t)
	r.groups, r.notCalled = []groups.Group{{Folder: "a", Assistant: "helper", Trigger: "@Andy"}}, 100
	dir := filepath.Join(o.Layout.Logs(), "a")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "assistant.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := operator.NewLocal(o).Faults(t.Context()); len(f.Now) != 0 {
		t.Errorf("%+v", f.Now)
	}
}
