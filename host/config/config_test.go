package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/setting"
)

// configDir is a directory for longshore.yaml among what the files above name.
func configDir(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	dir := fstest.Mkdir(t, base, "etc")
	fstest.Write(t, "", dir, "empty")
	fstest.Write(t, "five5\n", dir, "short")
	fstest.Write(t, "s3cret-of-16-and-more\n", dir, "secret")
	fstest.Write(t, "s3cret-of-16-and-more\n", dir, "state/groups/token")
	fstest.Mkdir(t, base, "home")
	fstest.Mkdir(t, base, "outside")
	fstest.Mkdir(t, base, "share-evil")
	fstest.Mkdir(t, base, "share/.ssh/keys")
	fstest.Mkdir(t, base, "share/.AWS")
	fstest.Write(t, "x", base, "share/file")
	fstest.Symlink(t, "../outside", base, "share/link")
	fstest.Symlink(t, "nowhere", base, "share/dangling")
	fstest.Symlink(t, ".ssh/keys", base, "share/keys")
	return dir
}

func parse(t *testing.T, dir, yaml string) (*config.Config, error) {
	t.Helper()
	env := map[string]string{"TOKEN": "t0ken-of-16-and-more", "SHORT": "five5", "HOME": filepath.Join(filepath.Dir(dir), "home")}
	return config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(yaml), func(name string) string { return env[name] }, platforms())
}

// wrong is all that is wrong with a configuration: what refuses the file, or what keeps parts of it down.
func wrong(cfg *config.Config, err error) error {
	if err != nil {
		return err
	}
	var all []error
	for _, p := range cfg.Down {
		all = append(all, p)
	}
	return errors.Join(all...)
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	dir := configDir(t)
	cfg, err := parse(t, dir, `
channels: {web: {token: "${TOKEN}"}}
assistants:
  a: {env: {KEY: "${TOKEN}", PLAIN: t0ken-of-16-and-more}, env_from_file: {FILED: secret}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := webOf(cfg).Token.Reveal(); got != "t0ken-of-16-and-more" {
		t.Errorf("token %q", got)
	}
	env := cfg.Assistants["a"].Env
	if env["KEY"].Reveal() != "t0ken-of-16-and-more" || env["PLAIN"].Reveal() != "t0ken-of-16-and-more" || env["FILED"].Reveal() != "s3cret-of-16-and-more" {
		t.Errorf("env %q %q %q", env["KEY"].Reveal(), env["PLAIN"].Reveal(), env["FILED"].Reveal())
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "cfg", cfg, "web", webOf(cfg), "token", env["FILED"])
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "cfg", cfg, "token", env["FILED"])
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ secret config.Secret }{env["FILED"]}
	text := log.String() + string(asJSON) + fmt.Sprintf("%v %+v %#v %s %q %x %d %v %+v %#v", *cfg, *webOf(cfg), *webOf(cfg), env, env["KEY"], env["KEY"], env["KEY"], hidden, hidden, hidden)
	for _, secret := range []string{"t0ken-of-16-and-more", "s3cret-of-16-and-more", fmt.Sprintf("%x", "t0ken-of-16-and-more")} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is printed", secret)
		}
	}
	if !strings.Contains(string(asJSON), "[redacted]") {
		t.Errorf("JSON does not show that there is a secret: %s", asJSON)
	}
}

func TestConfigDefaults(t *testing.T) {
	dir := configDir(t)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, yaml := range []string{"", "# nothing\n", "channels: {web: }\n", "channels:\n  web:\n"} {
		cfg, err := parse(t, dir, yaml)
		if err != nil {
			t.Fatalf("%q: %v", yaml, err)
		}
		if webOf(cfg) == nil || webOf(cfg).Listen != "127.0.0.1:8420" {
			t.Errorf("%q: web is %+v", yaml, webOf(cfg))
		}
		if cfg.Layout() != (groups.Layout{State: filepath.Join(real, "state"), Project: real}) {
			t.Errorf("%q: layout %+v", yaml, cfg.Layout())
		}
		l := cfg.Limits
		if l.Pending != 64 || l.Outbox != 256<<20 || l.Wait.Std() != 45*time.Second || l.Rate != (groups.Rate{PerMinute: 20, Burst: 10}) ||
			l.Retry.MaxAge.Std() != 24*time.Hour || l.FreeDisk != 1<<30 || l.KeepErrors.Std() != 30*24*time.Hour {
			t.Errorf("%q: limits %+v", yaml, l)
		}
	}
}

func TestConfigReadsEverything(t *testing.T) {
	dir := configDir(t)
	cfg, err := parse(t, dir, `
name: Bee
state: ../run
project: ../share
log: {level: debug, format: json}
channels:
  web: {listen: "0.0.0.0:80", url: "https://chat.example.org", token_file: secret, upload: 5MB}
assistants:
  one: {runtime: docker, agent: command, command: [run, "a b"], image: img, network: none, idle_timeout: 1m, turn_timeout: 2m, memory: 1GiB, cpus: 0.5, pids: 9}
groups:
  - {folder: 007, chat: "web:a", main: true, trigger: "@Bee", assistant: one, rate: {burst: 3}, limits: {image: 10MB, video: 30}}
  - {name: Two, folder: two, chat: "1@g.us", mounts: [{name: pub, host: ../share/../share, write: true}]}
mounts: {allow: [{path: ../share, write: true}]}
limits: {files: {audio: 1MB}, free_disk: 0, keep_results: 2d, keep_errors: 0s}
`)
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	gathered := groups.Gather{After: config.Duration(1500 * time.Millisecond), Most: config.Duration(10 * time.Second)}
	want := []groups.Group{
		{Name: "007", Folder: "007", Chat: "web:a", Channel: "web", Main: true, Trigger: "@Bee", Assistant: "one", Gather: gathered, Events: groups.EventNotes,
			Limits: groups.KindLimits{"audio": 1e6, "image": 10e6, "video": 30}, Rate: groups.Rate{PerMinute: 20, Burst: 3}},
		{Name: "Two", Folder: "two", Chat: "1@g.us", Gather: gathered, Events: groups.EventNotes, Rate: groups.Rate{PerMinute: 20, Burst: 10}, Limits: groups.KindLimits{"audio": 1e6},
			Mounts: []groups.Extra{{Name: "pub", Host: filepath.Join(real, "share"), Write: true}}},
	}
	if diff := cmp.Diff(want, cfg.Groups); diff != "" {
		t.Error(diff)
	}
	wantAssistant := config.Assistant{Runtime: "docker", Agent: "command", Command: []string{"run", "a b"}, Image: "img", Share: "directories", WhenAway: config.AwayWait, Network: "none", Keys: "inside", Env: map[string]config.Secret{},
		IdleTimeout: config.Duration(time.Minute), TurnTimeout: config.Duration(2 * time.Minute), Memory: 1 << 30, CPUs: 0.5, Pids: 9}
	if diff := cmp.Diff(wantAssistant, cfg.Assistants["one"]); diff != "" {
		t.Error(diff)
	}
	wantWeb := &web.Settings{Listen: "0.0.0.0:80", URL: "https://chat.example.org", Token: setting.NewSecret("s3cret-of-16-and-more"), TokenFile: "secret", Upload: 5e6,
		LinkExpiry: setting.Duration(7 * 24 * time.Hour), LinkSize: 1 << 30, LinkQuota: 4 << 30, Keep: setting.Duration(365 * 24 * time.Hour), Messages: 100_000}
	if diff := cmp.Diff(wantWeb, webOf(cfg)); diff != "" {
		t.Error(diff)
	}
	if l := cfg.Limits; l.Files["audio"] != 1e6 || l.FreeDisk != 0 || l.KeepErrors != 0 || l.KeepResults.Std() != 48*time.Hour {
		t.Errorf("limits %+v", l)
	}
	if cfg.State.Directory != filepath.Join(real, "run") || cfg.Project != filepath.Join(real, "share") || cfg.Name != "Bee" {
		t.Errorf("%+v", cfg)
	}
}

// The program runs in the group's workspace, where its relative path would lead
// elsewhere.
func TestARelativeCommandStartsAtTheFile(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(`
assistants:
  near: {agent: command, command: [./near.sh, ./argument]}
  path: {agent: command, command: [near]}
  inside: {runtime: docker, agent: command, command: [./near.sh]}
`), os.Getenv, platforms())
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"near":   {filepath.Join(real, "near.sh"), "./argument"},
		"path":   {"near"},
		"inside": {"./near.sh"},
	} {
		if diff := cmp.Diff(want, cfg.Assistants[name].Command); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLoadReadsAFile(t *testing.T) {
	dir := configDir(t)
	path := fstest.Write(t, string(config.Example()), dir, "longshore.yaml")
	cfg, err := config.Load(path, platforms())
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Groups) != 1 || cfg.File != path {
		t.Errorf("%+v", cfg)
	}
	if _, err := config.Load(filepath.Join(dir, "none.yaml"), platforms()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a missing file: %v", err)
	}
	fstest.Write(t, strings.Repeat("# x\n", 1<<19), dir, "large.yaml")
	if _, err := config.Load(filepath.Join(dir, "large.yaml"), platforms()); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("Load of a large file: %v", err)
	}
}

func TestLimitsForAllAreAGroupsOwnWhereTheyAreTighter(t *testing.T) {
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), []byte(`
limits: {files: {image: 5MB, video: 9MB}}
groups:
- {folder: a, chat: "web:a", limits: {image: 1MB, video: 20MB}}
- {folder: b, chat: "web:b"}
`), func(string) string { return "" }, platforms())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(groups.KindLimits{"image": 1e6, "video": 9e6}, cfg.Groups[0].Limits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(groups.KindLimits{"image": 5e6, "video": 9e6}, cfg.Groups[1].Limits); diff != "" {
		t.Error(diff)
	}
}
