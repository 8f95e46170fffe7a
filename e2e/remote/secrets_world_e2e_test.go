//go:build e2e

package remote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/screen"
)

// leaver is an assistant that sends what the file "list" names, in the way that it is
// told. The list has paths below the directory in, which is in the workspace, and below
// $TMPDIR/in, which is not.
const leaver = `#!/bin/sh
way=$(cat | grep -o 'way [a-z]*' | tail -1 | cut -c5-)
case $way in
tool) while read -r p; do $LONGSHORE agentrunner send "in/$p"; done < list > told-$way.txt 2>&1;;
staged) rm -rf "$TMPDIR/in"; cp -r in "$TMPDIR/in"; while read -r p; do $LONGSHORE agentrunner send "$TMPDIR/in/$p"; done < list > told-$way.txt 2>&1;;
main) while read -r p; do $LONGSHORE agentrunner send --chat push:desk "in/$p"; done < list > told-$way.txt 2>&1;;
directive) while read -r p; do echo "MEDIA:$PWD/in/$p"; done < list;;
drop) mkdir -p outbox; cp -r in/. outbox/;;
esac
echo "over: $way"
`

// leaving is a host process with two groups whose assistant is the leaver.
type leaving struct {
	*desk
	layout groups.Layout
	client *operator.Client
	said   int // messages of assistants
}

func newLeaving(t *testing.T, files map[string]string) *leaving {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret, listen, kept := pushtest.Secret(), stage.FreeAddress(t), filepath.Join(t.TempDir(), "secret")
	l := &leaving{desk: &desk{t: t, dir: dir, listen: listen, receiver: pushtest.New(t, secret, "push:desk", "push:ops")}, layout: groups.Layout{State: filepath.Join(dir, "state")}}
	l.client = operator.NewClient(operator.ControlDir(l.layout))
	script := filepath.Join(dir, "leaver.sh")
	err = errors.Join(
		os.WriteFile(kept, []byte(secret), 0o600),
		os.WriteFile(filepath.Join(dir, "longshore.yaml"), fmt.Appendf(nil, `state: ./state
channels: {push: {url: %q, secret_file: %q, listen: %q}}
limits: {rate: {per_minute: 100000, burst: 10000}, pending: 10000, free_disk: 1MB}
assistants: {leaver: {runtime: process, agent: command, command: [%q]}}
groups:
- {folder: desk, chat: "push:desk", assistant: leaver, gather: {after: 0s}}
- {folder: ops, chat: "push:ops", main: true, assistant: leaver, gather: {after: 0s}}
`, l.receiver.URL, kept, listen, script), 0o644),
		os.WriteFile(script, []byte(strings.ReplaceAll(leaver, "$LONGSHORE", os.Args[0])), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"desk", "ops"} {
		for name, content := range files {
			file := filepath.Join(l.layout.Workspace(folder), "in", filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			stage.Write(t, file, content)
		}
	}
	l.start()
	return l
}

// tell has a group's assistant send files in one way, and waits until its turn is over.
func (l *leaving) tell(folder, way string, names []string) {
	l.t.Helper()
	stage.Write(l.t, filepath.Join(l.layout.Workspace(folder), "list"), strings.Join(names, "\n")+"\n")
	l.posted++
	reply := pushtest.Reply{Type: "message", Chat: "push:" + folder, ID: fmt.Sprint("m", l.posted), From: "Ann", Text: "way " + way + ".", Direct: true}
	stage.Eventually(l.t, "the host takes a message", func() bool { return l.receiver.Post(l.t.Context(), "http://"+l.listen+"/", reply) == nil })
	l.said++
	stage.Eventually(l.t, "the turn is over: "+way, func() bool {
		n := 0
		for _, m := range append(l.receiver.Shown(l.t, "push:desk", 0), l.receiver.Shown(l.t, "push:ops", 0)...) {
			if strings.Contains(m.Text, "over: ") {
				n++
			}
		}
		return n == l.said
	})
}

// arrived is the hashes of the files that a chat has.
func (l *leaving) arrived(chat string) (all []string) {
	l.t.Helper()
	for _, m := range l.receiver.Shown(l.t, chat, 0) {
		for _, f := range m.Files {
			all = append(all, f.SHA256)
		}
	}
	slices.Sort(all)
	return all
}

// screened is how many requests a rule has refused.
func (l *leaving) screened() (n int) {
	l.t.Helper()
	items, err := l.client.List(l.t.Context(), operator.Filter{Failed: true, Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, i := range items {
		if i.Code == screen.Code && strings.Contains(i.Message, "(rule ") {
			n++
		}
	}
	return n
}

// dropped are the names that a drop directory sends: it has no directories, and passes
// over names that begin with a dot.
func dropped(names []string) (all []string) {
	for _, name := range names {
		if !strings.Contains(name, "/") && !strings.HasPrefix(name, ".") {
			all = append(all, name)
		}
	}
	return all
}

// fiveWays calls each with every way out, the group that takes it, and the files that it sends.
func fiveWays(names []string, each func(way, folder string, names []string)) {
	each("tool", "desk", names)
	each("staged", "desk", names)
	each("main", "ops", names)
	each("drop", "desk", dropped(names))
	for some := range slices.Chunk(names, 10) {
		each("directive", "desk", some)
	}
}
