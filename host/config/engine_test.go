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
	for _, one := range []struct{ engine, assistant, want string }{
		{"{ssh: {host: far, user: u, " + files + "}}", "runtime: docker, share: none", ""},
		{"{ssh: {host: 'far:2222', user: u, " + files + "}, socket: /run/user/1000/docker.sock}", "runtime: docker, share: none", ""},
		{"{ssh: {host: far, user: u, " + files + "}}", "runtime: docker", "the engine is on another machine"},
		{"{ssh: {host: far, user: u, " + files + "}}", "runtime: process", ""},
		{"{ssh: {host: far, user: u}}", "runtime: docker, share: none", "there is no such file"},
		{"{ssh: {host: far, " + files + "}}", "runtime: docker, share: none", "there is no account"},
		{"{ssh: {host: 'tcp://far:2375', user: u, " + files + "}}", "runtime: docker, share: none", "the engine is reached over ssh, at its unix socket"},
		{"{ssh: {host: far, user: u, " + files + "}, socket: docker.sock}", "runtime: docker, share: none", "no absolute path"},
		{"{socket: /run/docker.sock}", "runtime: docker, share: none", "no machine is named"},
		{"'tcp://far:2375'", "runtime: docker, share: none", "engine"},
	} {
		c, err := parse(t, dir, "engine: "+one.engine+"\nassistants: {a: {"+one.assistant+"}}\ngroups: [{folder: g, chat: 'web:g', assistant: a}]\n")
		err = wrong(c, err)
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%+v: %v", one, err)
		}
		if err == nil && !strings.HasSuffix(c.Engine.Socket, "docker.sock") {
			t.Errorf("%+v: the socket is %q", one, c.Engine.Socket)
		}
	}
}
