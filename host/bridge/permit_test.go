package bridge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/ipc"
)

// policed returns a registry in which a group has the policy.
func policed(t *testing.T, had *groups.Registry, folder string, may groups.MaySend) *groups.Registry {
	t.Helper()
	all := had.All()
	for i := range all {
		if all[i].Folder == folder {
			all[i].MaySend = may
		}
	}
	r, err := groups.NewRegistry(all)
	check(t, err)
	return r
}

// around returns hours around a time of the clock.
func around(at time.Time, before, after time.Duration) groups.Hours {
	return groups.Hours(at.Add(-before).Format("15:04") + "-" + at.Add(after).Format("15:04"))
}

func TestAGroupSendsWhatItsPolicyPermits(t *testing.T) {
	s := newSite(t)
	had := s.set.registry
	east := time.FixedZone("EAST", 9*3600)
	now := time.Now().In(east)
	for _, c := range []struct {
		may        groups.MaySend
		name, code string
		rule       string
	}{
		{groups.MaySend{}, "a.txt", "", ""},
		{groups.MaySend{Kinds: []string{"document"}}, "a.txt", "", ""},
		{groups.MaySend{Kinds: []string{"image", "voice"}}, "a.txt", "kind_not_allowed", "may_send.kinds"},
		{groups.MaySend{Most: 5}, "a.txt", "", ""},
		{groups.MaySend{Most: 4}, "a.txt", "size_not_allowed", "may_send.most"},
		{groups.MaySend{Hours: around(now, 2*time.Hour, 2*time.Hour)}, "a.txt", "", ""},
		{groups.MaySend{Hours: around(now, -3*time.Hour, 6*time.Hour)}, "a.txt", "outside_hours", "may_send.hours"},
	} {
		s.set.registry, s.set.zone = policed(t, had, "family", c.may), east
		r := file(s.write("family", c.name, "words"))
		v := s.handle("family", r)[0]
		_, looked := s.Examine("family", r, s.Mounted("family"))
		if c.code == "" {
			if !v.Accepted || looked != nil {
				t.Errorf("%+v: fate %+v, examined: %v", c.may, v, looked)
			}
			continue
		}
		if v.Refusal == nil || v.Refusal.Code != c.code || !strings.Contains(v.Refusal.Message, c.rule) {
			t.Errorf("%+v: fate %+v, want %s", c.may, v, c.code)
		}
		if why := bridge.AsRefusal(looked); why == nil || why.Code != c.code {
			t.Errorf("%+v: examined: %v, want %s", c.may, looked, c.code)
		}
		if v := s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "words"})[0]; !v.Accepted {
			t.Errorf("%+v: a text: %+v", c.may, v)
		}
		if v := s.handle("work", file(s.write("work", c.name, "words")))[0]; !v.Accepted {
			t.Errorf("%+v: another group's file: %+v", c.may, v)
		}
	}
}

// A reload forbade documents while one was being copied.
func TestAPolicyThatComesDuringACopyHolds(t *testing.T) {
	s := newSite(t)
	o := s.opts
	forbidden := policed(t, s.set.registry, "family", groups.MaySend{Kinds: []string{"image"}})
	o.Trace = func(_, _, step string) {
		if step == "copied" {
			s.set.registry = forbidden
		}
	}
	s.Bridge = bridge.New(o)
	if v := s.handle("family", file(s.write("family", "a.txt", "words")))[0]; v.Refusal == nil || v.Refusal.Code != "kind_not_allowed" {
		t.Errorf("fate %+v", v)
	}
}
