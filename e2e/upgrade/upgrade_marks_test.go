package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestDoubtsOfTheFirstReleaseEndAsPromised opens what a host of the first release
// left when it was killed in the middle of sends, on a platform of each kind:
// one that can be asked, one that knows an id for a day or for a minute, one that
// knows none, and one that knows ids for ever. The host was killed an hour ago.
func TestDoubtsOfTheFirstReleaseEndAsPromised(t *testing.T) {
	t.Parallel()
	dir, expected, by := opened(t, "marks")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], append([]string{"-c", filepath.Join(dir, "longshore.yaml")}, args...)...)
		cmd.Env = append(os.Environ(), stage.ServeEnv+"=1")
		return cmd
	}
	before := listsAreTheSame(t, command, expected, by)

	platforms := newPlatforms()
	for chat, request := range map[groups.JID]string{ // what members see of the sends under way
		"mem:asks.there": "1-asked-there", "mem:fresh.a": "1-fresh", "mem:stale.a": "1-stale", "mem:blind.a": "1-blind", "mem:ever.a": "1-ever",
	} {
		platforms.show(t, chat, before.of(t, request).Parts[0].MessageID)
	}
	cfg, err := config.Load(filepath.Join(dir, "longshore.yaml"), stage.AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage.Site{TB: t, Dir: dir, Cfg: cfg}
	_, stop := s.Start(nil, platforms.channels()...)
	for _, want := range []struct {
		folder, id string
		status     ipc.Status
	}{
		{"asked-there", "1-asked-there", ipc.Sent}, {"asked-there", "2-asked-there", ipc.Sent},
		{"asked-missing", "1-asked-missing", ipc.Sent}, {"asked-missing", "2-asked-missing", ipc.Sent},
		{"fresh", "1-fresh", ipc.Sent}, {"fresh", "2-fresh", ipc.Sent},
		{"stale", "1-stale", ipc.Uncertain}, {"stale", "2-stale", ipc.Sent},
		{"blind", "1-blind", ipc.Uncertain}, {"blind", "2-blind", ipc.Sent},
		{"ever", "1-ever", ipc.Sent}, {"ever", "2-ever", ipc.Sent},
		{"ended", "1-uncertain", ipc.Uncertain}, {"ended", "2-failed", ipc.Failed}, {"ended", "3-sent", ipc.Sent},
		{"waits", "1-album", ipc.Sent},
	} {
		if r := s.Result(want.folder, want.id); r.Status != want.status {
			t.Errorf("%s ended as %s (%s), want %s", want.id, r.Status, r.Message, want.status)
		}
	}
	platforms.showed(t, map[groups.JID][]string{
		"mem:asks.there": {"there", "behind: asked-there"}, "mem:asks.missing": {"hangs: asked-missing", "behind: asked-missing"},
		"mem:fresh.a": {"there", "behind: fresh"}, "mem:ever.a": {"there", "behind: ever"},
		"mem:stale.a": {"there", "behind: stale"}, "mem:blind.a": {"there", "behind: blind"},
		"mem:ever.b": {"later: b"}, "mem:blind.b": nil,
	})

	// What had ended can be sent once more if the operator wants it, with its bytes.
	for _, id := range []string{"1-uncertain", "2-failed", "1-blind"} {
		if out, err := command("queue", "retry", before.of(t, id).ID).CombinedOutput(); err != nil {
			t.Errorf("retry %s: %v, %s", id, err, out)
		}
	}
	for chat, want := range map[groups.JID]string{"mem:blind.a": "1-blind", "mem:blind.b": "2-failed"} {
		ctx := stage.Soon(t)
		all, err := platforms["blind"].WaitShown(ctx, chat, map[groups.JID]int{"mem:blind.a": 3, "mem:blind.b": 2}[chat])
		if err != nil {
			t.Fatal(err)
		}
		if last := all[len(all)-1]; last.File == nil || last.File.SHA256 != before.of(t, want).Parts[0].SHA256 {
			t.Errorf("%s was sent again as %v", want, last)
		}
	}
	stop()
}

// platforms are the channels of the installation by name, with what members see.
type platforms map[string]*memory.Channel

func newPlatforms() platforms {
	all := platforms{}
	for name, forgets := range map[string]bool{"asks": true, "fresh": false, "stale": true, "blind": true, "ever": false} {
		all[name] = memory.New(memory.Options{Name: name, Prefix: "mem:" + name + ".", Online: true, Forgets: forgets})
	}
	return all
}

func (p platforms) channels() []channel.Channel {
	return []channel.Channel{
		memory.Finding{Channel: p["asks"]},
		memory.Blind{Channel: p["fresh"], Keyed: 24 * time.Hour},
		memory.Blind{Channel: p["stale"], Keyed: time.Minute},
		memory.Blind{Channel: p["blind"]},
		p["ever"],
	}
}

// show has a platform hold a message already: the host that was killed got so far.
func (p platforms) show(t *testing.T, chat groups.JID, id string) {
	t.Helper()
	for _, m := range p {
		if m.Owns(chat) {
			if _, err := m.Send(t.Context(), channel.Message{ID: id, Chat: chat, Text: "there"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (p platforms) showed(t *testing.T, want map[groups.JID][]string) {
	t.Helper()
	got := map[groups.JID][]string{}
	for chat := range want {
		got[chat] = nil
		for _, m := range p {
			for _, seen := range m.Shown(chat) {
				got[chat] = append(got[chat], seen.Text)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what members see (-want +got):\n%s", diff)
	}
}
