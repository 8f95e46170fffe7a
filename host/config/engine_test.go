package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestEngineOnAnotherMachine is reached over ssh alone, for containers that share no
// directory.
func TestEngineOnAnotherMachine(t *testing.T) {
	dir := configDir(t)
	fstest.Write(t, "x", dir, "ssh-key")
	files := fmt.Sprintf("key: %q, known_hosts: %q", filepath.Join(dir, "ssh-key"), filepath.Join(dir, "ssh-key"))
	far := "far: {ssh: {host: far, user: u, " + files + "}}"
	for _, one := range []struct{ engines, assistant, group, want string }{
		{far, "runtime: docker, share: none", "", ""},
		{"far: {ssh: {host: 'far:2222', user: u, " + files + "}, socket: /run/user/1000/docker.sock}", "runtime: docker, share: none", "", ""},
		{far, "runtime: docker", "", "the engine is on another machine"},
		{far, "runtime: process", "", ""},
		{"far: {ssh: {host: far, user: u}}", "runtime: docker, share: none", "", "there is no such file"},
		{"far: {ssh: {host: far, " + files + "}}", "runtime: docker, share: none", "", "there is no account"},
		{"far: {ssh: {host: 'tcp://far:2375', user: u, " + files + "}}", "runtime: docker, share: none", "", "the engine is reached over ssh, at its unix socket"},
		{"far: {ssh: {host: far, user: u, " + files + "}, socket: docker.sock}", "runtime: docker, share: none", "", "no absolute path"},
		{"far: {ssh: {user: u, " + files + "}}", "runtime: docker, share: none", "", "there is no machine"},
		{"far: 'tcp://far:2375'", "runtime: docker, share: none", "", "engine"},
		{"../far: {}", "runtime: docker, share: none", "", "no name of an engine"},
		{"here: {socket: /run/docker.sock}", "runtime: docker, share: none", "", ""},
		{"here: {}, " + far, "runtime: docker", "", "far: the engine is on another machine"},
		{"here: {}, " + far, "runtime: docker, engine: here", "", ""},
		{"here: {}, " + far, "runtime: docker, engine: here", "engine: [here, far]", "far: the engine is on another machine"},
		{"here: {}, " + far, "runtime: docker, share: none, engine: [far, here]", "engine: far", ""},
		{"here: {}, " + far, "runtime: docker, share: none, engine: [far, her]", "", `there is no engine "her"`},
		{"here: {}, " + far, "runtime: docker, share: none", "engine: [far, far]", "named twice"},
		{"here: {}, " + far, "runtime: docker, share: none", "engine: quay", `there is no engine "quay"`},
		{"here: {}, " + far, "runtime: process, engine: here", "", "only a container has an engine"},
		{"here: {}, " + far, "runtime: process", "engine: here", "only a container has an engine"},
		{"here: {}, " + far, "runtime: docker, share: none, when_away: move", "", ""},
		{"here: {}, " + far, "runtime: docker, engine: here, when_away: move", "", "nowhere to move"},
		{far, "runtime: docker, share: none, when_away: move", "", "nowhere to move"},
		{"here: {}, " + far, "runtime: docker, share: none, when_away: leave", "", "unknown here"},
		{"here: {}, there: {}", "runtime: docker", "", `the same engine as "here"`},
		{far + ", quay: {ssh: {host: 'far:22', user: v, " + files + "}}", "runtime: docker, share: none", "", `the same engine as "far"`},
	} {
		group := "folder: g, chat: 'web:g', assistant: a"
		if one.group != "" {
			group += ", " + one.group
		}
		c, err := parse(t, dir, "engines: {"+one.engines+"}\nassistants: {a: {"+one.assistant+"}}\ngroups: [{"+group+"}]\n")
		err = wrong(c, err)
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%+v: %v", one, err)
		}
		if err == nil && c.Engines["far"].Elsewhere() && !strings.HasSuffix(c.Engines["far"].Socket, "docker.sock") {
			t.Errorf("%+v: the socket is %q", one, c.Engines["far"].Socket)
		}
	}
}

// TestAGroupsOwnEnginesComeFirst, then those of its assistant, then all.
func TestAGroupsOwnEnginesComeFirst(t *testing.T) {
	c, err := parse(t, configDir(t), `engines: {quay: {socket: /a}, dock: {socket: /b}, berth: {socket: /c}}
assistants: {named: {runtime: docker, engine: [quay, dock]}, any: {runtime: docker}, child: {}}
groups:
- {folder: own, chat: 'web:own', assistant: named, engine: berth}
- {folder: named, chat: 'web:named', assistant: named}
- {folder: any, chat: 'web:any', assistant: any}
- {folder: child, chat: 'web:child', assistant: child}
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[berth]", "[quay dock]", "[berth dock quay]", "[]"} {
		if got := fmt.Sprint(c.EnginesOf(c.Groups[i])); got != want {
			t.Errorf("%s may run on %s, want %s", c.Groups[i].Folder, got, want)
		}
	}
	if on := c.On("dock").Groups; len(on) != 2 || on[0].Folder != "named" || on[1].Folder != "any" {
		t.Errorf("on dock may run %v", on)
	}
	if c, err = parse(t, configDir(t), "assistants: {any: {runtime: docker}}\ngroups: [{folder: g, chat: 'web:g', assistant: any}]\n"); err != nil || fmt.Sprintf("%q", c.EnginesOf(c.Groups[0])) != `[""]` {
		t.Errorf("without engines: %q, %v", c.EnginesOf(c.Groups[0]), err)
	}
}

// After a take-over, another machine serves the groups.
func TestInAClusterContainersShareNothingAndEveryHostReachesTheirEngine(t *testing.T) {
	dir := configDir(t)
	fstest.Write(t, "x", dir, "ssh-key")
	file := fmt.Sprintf("%q", filepath.Join(dir, "ssh-key"))
	engines := "engines: {here: {}, far: {ssh: {host: far, user: u, key: " + file + ", known_hosts: " + file + "}}}\n"
	for _, one := range []struct{ engines, assistant, group, want string }{
		{engines, "runtime: docker, share: none, engine: far", "", ""},
		{engines, "runtime: process", "", ""},
		{engines, "runtime: docker, engine: here", "", "none hears what changes in a directory of another one"},
		{engines, "runtime: docker, share: none, engine: [far, here]", "", "the engine here is another one on each host"},
		{engines, "runtime: docker, share: none, engine: far", "engine: here", "the engine here is another one on each host"},
		{"", "runtime: docker, share: none", "", "the engine is another one on each host"},
	} {
		for _, cluster := range []string{"", "cluster: {name: x}\nstate: {postgres: {from_file: " + file + "}}\n"} {
			c, err := parse(t, dir, cluster+one.engines+"assistants: {a: {"+one.assistant+"}}\ngroups: [{folder: g, chat: 'web:g', assistant: a"+strings.TrimSuffix(", "+one.group, ", ")+"}]\n")
			err = wrong(c, err)
			if want := one.want; cluster == "" && err != nil || cluster != "" && (want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want))) {
				t.Errorf("%+v, %q: %v", one, cluster, err)
			}
		}
	}
}
