//go:build e2e

package discordtest

import (
	"embed"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The program, and the exact versions of all that it is made of.
//
//go:embed testdata
var programs embed.FS

// TestDiscordJSTakesThisForDiscord has clients that nobody here wrote look at the API
// and at the gateway.
func TestDiscordJSTakesThisForDiscord(t *testing.T) {
	modules := npmtest.Modules(t, programs, "testdata/discord-node")
	s := New(t)
	ch := s.AddChannel("desk")
	cmd := exec.Command("node", filepath.Join("testdata", "discord-node", "clients.mjs"), modules, s.srv.URL+"/api", s.Token, ch)
	ada := s.AddUser("Ada")
	done := make(chan *Acted, 1)
	go func() { done <- s.pressSoon(t, ch, ada, "No") }()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr(err))
	}
	var saw struct {
		One, Two, Event, Edited string
		Page, Refused           int
		Seen, Commands          []string
		Button, By              string
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if saw.One == "" || saw.Two != saw.One || saw.Event != saw.One || saw.Edited != "there" || saw.Page != 1 || saw.Refused != 10008 {
		t.Errorf("discord.js saw %+v", saw)
	}
	for _, kind := range []string{"READY", "GUILD_CREATE", "MESSAGE_CREATE"} {
		if !slices.Contains(saw.Seen, kind) {
			t.Errorf("it heard no %s: %q", kind, saw.Seen)
		}
	}
	if a := <-done; saw.Button != "no" || saw.By != ada || a == nil || s.Answered(a).Answer != 6 || !slices.Equal(saw.Commands, []string{"status"}) {
		t.Errorf("discord.js saw %+v, and its answer to the button is %+v", saw, a)
	}
	all := s.Messages(ch)
	if len(all) != 2 || len(all[0].Files) != 2 || all[0].Files[0].Alt != "the first" || all[0].Files[1].Size != 6 || !all[0].Gone {
		t.Errorf("the channel has %+v", all)
	}
}

// pressSoon has a member press a button once the bot has posted it.
func (s *Server) pressSoon(t testing.TB, channel, user, label string) *Acted {
	for {
		news := s.News()
		for _, m := range s.Messages(channel) {
			if a := s.Press(channel, user, m.ID, label); a != nil {
				return a
			}
		}
		select {
		case <-news:
		case <-t.Context().Done():
			return nil
		}
	}
}

func stderr(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}
