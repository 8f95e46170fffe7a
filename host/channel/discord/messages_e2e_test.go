//go:build e2e

package discord_test

import (
	"bufio"
	"embed"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The programs, and the exact versions of all that they are made of.
//
//go:embed discordtest/testdata
var programs embed.FS

const nodeDir = "discordtest/testdata/discord-node"

// TestTheSchemaIsThatOfDiscordAPITypes: what is new there has to be written into
// testdata/schema.json, and then wants its rows.
func TestTheSchemaIsThatOfDiscordAPITypes(t *testing.T) {
	modules := npmtest.Modules(t, programs, nodeDir)
	out, err := exec.Command("node", filepath.Join(nodeDir, "schema.mjs"), modules).Output()
	if err != nil {
		t.Fatal(err)
	}
	var is, want any
	data, err := os.ReadFile("testdata/schema.json")
	if err == nil {
		err = json.Unmarshal(data, &is)
	}
	if err == nil {
		err = json.Unmarshal(out, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("testdata/schema.json is not that of discord-api-types (-types +file); write it with %s/schema.mjs:\n%s", nodeDir, diff)
	}
}

// seen is what discord.js takes a message for.
type seen struct {
	Ready, ID, Content string
	Robot, System      bool
	Files, Poll        []string
	Stickers           []struct{ Name, URL string }
	Snapshots          []seen
}

// words and files are all that a member sees, of forwarded messages, too.
func (s seen) words() []string {
	all := append([]string{s.Content}, s.Poll...)
	for _, of := range s.Stickers {
		all = append(all, of.Name)
	}
	for _, of := range s.Snapshots {
		all = append(all, of.words()...)
	}
	return all
}

func (s seen) files() (all []string) {
	for _, name := range s.Files {
		all = append(all, strings.TrimPrefix(name, "SPOILER_"))
	}
	for _, of := range s.Stickers {
		if ext := path.Ext(of.URL); ext != ".json" { // vectors
			all = append(all, of.Name+ext)
		}
	}
	for _, of := range s.Snapshots {
		all = append(all, of.files()...)
	}
	return all
}

// TestDiscordJSTakesMessagesForTheSame has a client that nobody here wrote hear all
// documents beside the channel.
func TestDiscordJSTakesMessagesForTheSame(t *testing.T) {
	modules := npmtest.Modules(t, programs, nodeDir)
	w := newWorld(t)
	in, _ := w.run(t)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(nodeDir, "messages.mjs"), modules, strings.TrimSuffix(w.URL(), "/v10/"), w.Token)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func() (s seen) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("discord.js ended: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		return s
	}
	if next().Ready != w.BotID {
		t.Fatal("discord.js is not ready")
	}
	real, err := discord.Platform(discord.Net{}).New(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, d := range documents(t) {
		user := w.ada
		if d.Stranger {
			user = ""
		}
		is, theirs := w.Document(id(w.desk), user, string(d.In)), seen{}
		for theirs.ID != is {
			theirs = next()
		}
		if theirs.Robot != d.Stranger || d.Want == nil && !theirs.Robot && !theirs.System {
			t.Errorf("%s: discord.js takes it for %+v", name, theirs)
		}
		if d.Want == nil {
			continue
		}
		n++
		ours := in.Wait(t, n)[n-1]
		if unknown := strings.HasPrefix(ours.Told, "type-"); ours.ID != is || theirs.System != (ours.Kind == channel.KindNote) && !unknown {
			t.Errorf("%s came in as %+v, and discord.js takes it for %+v", name, ours, theirs)
		}
		for _, words := range theirs.words() {
			if !strings.Contains(ours.Text, words) && ours.Told != "message" {
				t.Errorf("%s came in as %q without %q", name, ours.Text, words)
			}
		}
		if diff := cmp.Diff(theirs.files(), names(ours.Files)); diff != "" {
			t.Errorf("%s: the files (-discord.js +here):\n%s", name, diff)
		}
		for _, s := range theirs.Stickers {
			if u, err := url.Parse(s.URL); err != nil || path.Ext(u.Path) != ".json" && discord.FileAt(real, u.Path) != s.URL {
				t.Errorf("%s: discord.js has the sticker at %s, %v", name, s.URL, err)
			}
		}
	}
	w.Post(id(w.desk), w.ada, "end", discordtest.Says{})
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
