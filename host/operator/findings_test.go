package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
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

// findings are those for which an operator has to do something, and the parts that have shown nothing.
func findings(t *testing.T, o operator.Options) (wrong []finding.Finding, unseen []string) {
	t.Helper()
	all, err := operator.NewLocal(o).Findings(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Severity == finding.Unseen {
			unseen = append(unseen, f.Part)
		}
	}
	return finding.Wrong(all), unseen
}

// NanoClaw v1's layout has the logs below data/.
func TestTheRemedyNamesTheLogWhereItLies(t *testing.T) {
	o, r := judged(t)
	r.status = []turns.Status{{Folder: "c", State: "idle", LastError: "exit 1", Cause: cause.Failed, Failures: 3}}
	for _, v1 := range []bool{false, true} {
		o.Layout.V1 = v1
		want := "tail -n 20 " + filepath.Join(o.Layout.Logs(), "c", "assistant.log")
		if all, _ := findings(t, o); len(all) != 1 || !strings.HasPrefix(all[0].Remedy, want) {
			t.Errorf("v1 %v: %+v, want %s", v1, all, want)
		}
	}
}

func TestEachFindingIsNamedOnce(t *testing.T) {
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
		"clock_off of clock": func(_ operator.Options, r *rooms) { r.ahead = -24 * time.Hour },
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
		"errors_growing of errors folder": func(o operator.Options, _ *rooms) {
			refuse(t, o.Layout, 10, time.Now().Add(-time.Minute))
		},
	} {
		t.Run(want, func(t *testing.T) {
			o, r := judged(t)
			if all, unseen := findings(t, o); len(all)+len(unseen) != 0 {
				t.Fatalf("a host that is well: %+v, %q", all, unseen)
			}
			spoil(o, r)
			var ids []string
			all, _ := findings(t, o)
			for _, f := range all {
				ids = append(ids, f.ID())
				if f.Cause == "" || f.Remedy == "" || f.Since.IsZero() {
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
	if all, _ := findings(t, o); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// After a start nobody knows whether the key is accepted by now: that is no end of the
// fault.
func TestAnAssistantWithoutATurnIsUnknown(t *testing.T) {
	o, r := judged(t)
	r.turns = map[string]turns.Turns{"c": {Broke: time.Now()}}
	_, unseen := findings(t, o)
	if diff := cmp.Diff([]string{"assistant helper"}, unseen); diff != "" {
		t.Error(diff)
	}
	r.turns = map[string]turns.Turns{"a": {Done: time.Now()}, "c": {Done: time.Now()}}
	if _, unseen := findings(t, o); len(unseen) != 0 {
		t.Errorf("one of its groups had a turn: %q", unseen)
	}
}

func TestWithoutAHostThereAreNoFaults(t *testing.T) {
	o, _ := judged(t)
	o.Running = nil
	o.Channels[0].(memory.Full).Disconnect()
	if all, _ := findings(t, o); len(all) != 0 {
		t.Errorf("%+v", all)
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
	if all, _ := findings(t, o); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// TestAStateThatIsGoneWasAlsoToldAsAnOutboxOutOfOrder, and so was one that is closed or overwritten, with another remedy.
func TestAStateThatIsGoneWasAlsoToldAsAnOutboxOutOfOrder(t *testing.T) {
	for _, known := range []finding.Finding{
		finding.Gone("/state", 7),
		{Name: finding.State, Part: "state", Severity: finding.Fault, Cause: "permission denied", Remedy: "chmod"},
		{Name: finding.State, Part: "state, blobs", Severity: finding.Fault, Cause: "blobs is gone", Remedy: "put it back"},
		{Name: finding.Damaged, Part: "state", Severity: finding.Fault, Cause: "no database", Remedy: "restore it"},
		{Name: finding.State, Part: "state, logs", Severity: finding.Fault, Cause: "permission denied", Remedy: "chmod"},
	} {
		c := newCounter(t)
		if err := os.RemoveAll(filepath.Join(c.Layout.Own(), "blobs")); err != nil {
			t.Fatal(err)
		}
		o := c.Options
		o.Parts = stated{known}
		all, _ := findings(t, o)
		i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Name == finding.Accepting })
		if (i >= 0) != (known.Part == "state, logs") {
			t.Errorf("with %s: %+v", known.ID(), all)
		}
		if why := operator.RefusalOf(all); why == nil || i < 0 && why.Message != known.Cause {
			t.Errorf("with %s the host is unready for %v", known.ID(), why)
		}
	}
}

// TestAPartThatIsDownWasAlsoToldAsItsAssistant: a mount that is missing, and an engine that is away.
func TestAPartThatIsDownWasAlsoToldAsItsAssistant(t *testing.T) {
	for _, known := range []finding.Finding{
		{Name: string(cause.Setup), Part: "group b"}, {Name: string(cause.Mount), Part: "group b, /workspace/extra/docs"}, {Name: string(cause.Engine), Part: "engine dock"},
	} {
		o, r := judged(t)
		known.Severity = finding.Fault
		o.Parts = stated{known}
		r.status = []turns.Status{{Folder: "b", State: "waiting", LastError: "gone", Cause: cause.Cause(known.Name), Failures: 3}, {Folder: "c", State: "waiting", Cause: cause.Key}}
		all, _ := findings(t, o)
		if len(all) != 2 || all[0].ID() != "key_not_accepted of assistant other" || all[1].ID() != known.ID() {
			t.Errorf("with %s: %+v", known.ID(), all)
		}
	}
}

// taken is a channel whose address another program has.
type taken struct{ channel.Channel }

func (taken) Connected() (bool, string) { return false, "listen on :1: " + syscall.EADDRINUSE.Error() }

// TestATakenAddressWasToBeMendedByANewToken.
func TestATakenAddressWasToBeMendedByANewToken(t *testing.T) {
	o, _ := judged(t)
	o.Channels[0] = taken{o.Channels[0]}
	all, _ := findings(t, o)
	if len(all) != 1 || strings.Contains(all[0].Remedy, "token") || !strings.Contains(all[0].Remedy, "channels.memory.listen") {
		t.Errorf("%+v", all)
	}
}

// stated are a host's own findings.
type stated []finding.Finding

func (s stated) Findings(context.Context) []finding.Finding { return s }
func (stated) Examine(context.Context) []finding.Finding    { return nil }

// TestAHostThatAcceptsEverythingWasUnready, since a directory was closed in which no delivery lies.
func TestAHostThatAcceptsEverythingWasUnready(t *testing.T) {
	for part, ready := range map[string]bool{"state, logs": true, "state, ipc": false, "state, installation": false, "state": false} {
		if why := operator.RefusalOf([]finding.Finding{{Name: finding.State, Part: part, Severity: finding.Fault, Cause: "permission denied"}}); (why == nil) != ready {
			t.Errorf("%s: %v", part, why)
		}
	}
}

// TestAStateThatIsGoneWasToBeMendedByMovingAwayWhatIsInItsPlace: the host could not make its control
// socket there, and nothing was in its place.
func TestAStateThatIsGoneWasToBeMendedByMovingAwayWhatIsInItsPlace(t *testing.T) {
	o, _ := judged(t)
	o.Parts = stated{
		{Name: finding.StateGone, Part: "state", Severity: finding.Fault},
		{Name: finding.Listener, Part: "control socket", Severity: finding.Fault},
		{Name: finding.Listener, Part: "metrics", Severity: finding.Fault},
	}
	if all, _ := findings(t, o); len(all) != 2 || all[0].Part != "metrics" || all[1].Name != finding.StateGone {
		t.Errorf("%+v", all)
	}
}

// half is a host whose errors folder is closed.
type half struct{ operator.Control }

func (half) Status(context.Context) (operator.Status, error) {
	return operator.Status{Findings: []finding.Finding{{Name: finding.State, Part: "state, ipc/errors", Severity: finding.Fault}}}, nil
}

func (half) List(_ context.Context, f operator.Filter) ([]operator.Item, error) {
	if f.Failed {
		return nil, errors.New("list the errors folder: permission denied")
	}
	return []operator.Item{{ID: "x"}}, nil
}

func (half) Tasks(context.Context, string) ([]tasks.Task, error)          { return nil, nil }
func (half) PairingCodes(context.Context) ([]operator.PairingCode, error) { return nil, nil }

// TestAClosedErrorsFolderLeftThePageWithoutFindings: the page had an error in place of all that it
// shows, and its remedy was a restart.
func TestAClosedErrorsFolderLeftThePageWithoutFindings(t *testing.T) {
	o, err := operator.Look(t.Context(), half{})
	if err != nil || len(o.Status.Findings) != 1 || len(o.Queue) != 1 || o.Failed == nil {
		t.Errorf("%+v, %v", o, err)
	}
}
