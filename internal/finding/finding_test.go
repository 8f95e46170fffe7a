package finding

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAFindingKeepsSinceWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		began := time.Now()
		down := Finding{Name: Channel, Part: "channel slack", Severity: Fault, Cause: "lookup slack.com: no such host"}
		l.Since([]Finding{down})
		time.Sleep(time.Minute)
		down.Cause = "connection refused"
		if got := l.Since([]Finding{down})[0]; !got.Since.Equal(began) || got.Cause != down.Cause {
			t.Errorf("a minute later the finding is %+v; want its new cause, since %v", got, began)
		}
		l.Since(nil)
		if got := l.Since([]Finding{down})[0].Since; !got.Equal(time.Now()) {
			t.Errorf("a finding that came back lasts since %v; want now", got)
		}
	})
}

func TestAPartThatKnowsSinceWhenIsBelieved(t *testing.T) {
	var l List
	at := time.Now().Add(-time.Hour)
	if got := l.Since([]Finding{{Name: Stuck, Part: "group a", Since: at}})[0].Since; !got.Equal(at) {
		t.Errorf("since %v; want %v", got, at)
	}
}

// A network file system hung, and with it every view of the host.
func TestASourceThatHangsHoldsUpNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		calls := 0
		b := Background{Every: time.Minute, Source: Func(func(context.Context) []Finding {
			if calls++; calls > 1 {
				<-hang
			}
			return []Finding{{Name: Stuck, Part: fmt.Sprint("group ", calls)}}
		})}
		first := b.Findings(t.Context())
		time.Sleep(2 * time.Minute)
		for range 3 {
			if diff := cmp.Diff(first, b.Findings(t.Context())); diff != "" {
				t.Error(diff)
			}
		}
		close(hang)
		synctest.Wait()
		if got := b.Findings(t.Context()); calls != 2 || got[0].Part != "group 2" {
			t.Errorf("after %d calls: %+v", calls, got)
		}
	})
}

// A slow database held up each of five sources in turn: a load balancer, and longshore status, took the host for dead.
func TestSourcesThatHangHoldAListUpForLessThanASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var all []Source
		for range 5 {
			all = append(all, &Background{Source: Func(func(context.Context) []Finding { <-hang; return []Finding{{Name: State}} })})
		}
		began := time.Now()
		if AtOnce(t.Context(), all...); time.Since(began) >= time.Second {
			t.Errorf("it took %v", time.Since(began))
		}
		close(hang)
		synctest.Wait()
		for _, list := range AtOnce(t.Context(), all...) {
			if len(list) != 1 {
				t.Errorf("%+v", list)
			}
		}
	})
}

func TestAFirstAnswerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Background{First: true, Source: Func(func(context.Context) []Finding {
			time.Sleep(5 * time.Second)
			return []Finding{{Name: State}}
		})}
		if got := b.Findings(t.Context()); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestWhatTwoPartsNoticeIsOneFinding(t *testing.T) {
	got := Merge(
		[]Finding{{Name: "not_installed", Part: "assistant a", Severity: Fault, Cause: "no claude"}, Well("state", "fine"), Well("state", "fine"), Well("state", "whole")},
		[]Finding{{Name: "not_installed", Part: "assistant a", Severity: Note}, {Name: ChannelSetup, Part: "channel x", Cause: "one"}, {Name: ChannelSetup, Part: "channel x", Cause: "two"}},
	)
	if len(got) != 5 || got[0].Cause != "no claude" || got[2].Cause != "two" {
		t.Errorf("%+v", got)
	}
}

// TestOneCauseWasToldAsTwoFindings: a warning about a line of the configuration, and the channel that the line keeps down.
func TestOneCauseWasToldAsTwoFindings(t *testing.T) {
	down := Finding{Name: Channel, Part: "channel web", Severity: Fault, Cause: "web.token_file: no such file"}
	advice := Finding{Name: Advice, Part: "configuration", Severity: Warning, Cause: "longshore.yaml:3:1: " + down.Cause}
	twin := down
	twin.Part = "channel web-two"
	if diff := cmp.Diff([]Finding{down, twin}, Merge([]Finding{advice}, []Finding{down, twin})); diff != "" {
		t.Error(diff)
	}
	if alone := Merge([]Finding{advice}); len(alone) != 1 {
		t.Errorf("advice alone: %+v", alone)
	}
}

// TestWhatFollowsFromAFindingWasOneMore with another remedy.
func TestWhatFollowsFromAFindingWasOneMore(t *testing.T) {
	full := Finding{Name: Accepting, Part: "outbox", Severity: Fault, Cause: "no delivery can be accepted: only 3 MB are free", Remedy: MakeRoom}
	socket := Finding{Name: State, Part: SocketPart, Severity: Fault, Cause: "longshore.sock is not a socket"}
	refused := Finding{Name: Config, Part: "configuration", Severity: Fault, Cause: "the last reload was refused: longshore.yaml:3:1: no such key"}
	mount := Finding{Name: "mount_missing", Part: "group a, /workspace/extra/docs", Severity: Fault, Cause: "the directory /srv/docs is gone"}
	for _, tt := range []struct{ from, follows, stays Finding }{
		{full, Finding{Name: Disk, Part: "disk", Severity: Fault, Cause: "3 MB free", Remedy: MakeRoom}, Finding{Name: Disk, Part: "disk", Severity: Warning, Cause: "12 inodes free", Remedy: "remove small files there"}},
		{full, Finding{Name: Channel, Part: "channel a", Severity: Fault, Cause: "no room", Remedy: MakeRoom}, Finding{Name: Channel, Part: "channel a", Severity: Fault, Cause: "no such host", Remedy: "correct it"}},
		{socket, Finding{Name: Listener, Part: ControlSocket, Severity: Fault, Cause: "not a socket"}, Finding{Name: Listener, Part: "metrics", Severity: Fault, Cause: "address already in use"}},
		{refused, Finding{Name: Invalid, Part: "configuration", Severity: Fault, Cause: "longshore.yaml:3:1: no such key"}, Finding{Name: Invalid, Part: "configuration", Severity: Fault, Cause: "longshore.yaml:5:1: no such key"}},
		{mount, Finding{Name: "directory_unusable", Part: "group a", Severity: Fault, Cause: "mount /workspace/extra/docs: no such file"}, Finding{Name: "directory_unusable", Part: "group b", Severity: Fault, Cause: "mount /workspace/extra/docs: no such file"}},
	} {
		if got := Merge([]Finding{tt.from}, []Finding{tt.follows}); len(got) != 1 || got[0] != tt.from {
			t.Errorf("%+v", got)
		}
		if got := Merge([]Finding{tt.from}, []Finding{tt.stays}); len(got) != 2 {
			t.Errorf("%+v is missing: %+v", tt.stays, got)
		}
	}
}

// With something wrong in each of a thousand groups, a status took seconds: each finding was compared with
// all others. Of so many as here, that would take hours.
func TestFindingsOfManyGroupsAreNotComparedWithEachOther(t *testing.T) {
	lists := make([][]Finding, 3)
	for i := range 60_000 {
		for l := range lists {
			lists[l] = append(lists[l], Finding{Name: fmt.Sprint("name", l), Part: fmt.Sprint("group ", i)})
		}
	}
	if n := len(Merge(lists...)); n != 180_000 {
		t.Errorf("%d findings", n)
	}
}

// TestADamagedStateAndTooManyFilesWereToldManyTimes, each with another remedy: of the channel's token, of the marker.
func TestADamagedStateAndTooManyFilesWereToldManyTimes(t *testing.T) {
	damaged := Finding{Name: Damaged, Part: "state", Severity: Fault, Cause: "the state's database is damaged and cannot be read (the database is damaged (11))"}
	files := Finding{Name: FilesFew, Part: LimitsPart, Severity: Fault, Cause: "this process may open 20 files and has no more left"}
	for _, tt := range []struct{ from, follows, stays Finding }{
		{damaged, Finding{Name: Channel, Part: "channel telegram", Severity: Fault, Cause: "list facts: the database is damaged (11)"}, Finding{Name: Channel, Part: "channel telegram", Severity: Fault, Cause: "no such host"}},
		{files, Finding{Name: Damaged, Part: "state, marker", Severity: Fault, Cause: "open marker: too many open files"}, Finding{Name: Accepting, Part: "outbox", Severity: Fault, Cause: "3 MB free"}},
	} {
		if got := Merge([]Finding{tt.follows}, []Finding{tt.from}); len(got) != 1 || got[0] != tt.from {
			t.Errorf("%+v", got)
		}
		if got := Merge([]Finding{tt.from, tt.stays}); len(got) != 2 {
			t.Errorf("%+v is missing: %+v", tt.stays, got)
		}
	}
}

// TestWhatWasMendedStoodInTheSameList: the doctor mended something, and a search that had begun before it answered.
func TestWhatWasMendedStoodInTheSameList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := true
		b := &Background{Every: time.Hour, Source: Func(func(context.Context) []Finding {
			was := wrong
			time.Sleep(2 * time.Second)
			if was {
				return []Finding{{Name: "open"}}
			}
			return nil
		})}
		b.Findings(t.Context()) // it has begun
		wrong = false
		if all := b.Findings(Anew(t.Context())); len(all) > 0 {
			t.Errorf("after it was mended: %+v", all)
		}
		wrong = true
		if all := b.Findings(t.Context()); len(all) > 0 {
			t.Errorf("it searched again within the hour: %+v", all)
		}
		if all := b.Findings(Anew(t.Context())); len(all) == 0 {
			t.Error("it did not search again")
		}
	})
}
