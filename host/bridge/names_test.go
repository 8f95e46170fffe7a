package bridge_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
)

// disguised are files that are secrets by a name: as it was asked for, by what a link leads to, by
// what it passes on the way, or by what members would see.
func disguised(s *site) map[string]ipc.Request {
	link := func(name, target string) string {
		path := filepath.Join(s.layout.Workspace("family"), name)
		check(s.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)))
		return "/workspace/group/" + name
	}
	named := func(path, name string) ipc.Request {
		r := file(path)
		r.Files[0].Name = name
		return r
	}
	from := func(origin string) ipc.Request {
		r := file(s.write("family", "copy.txt", "words"))
		r.Files[0].From = origin
		return r
	}
	plain := s.write("family", "plain.txt", "words")
	s.write("family", ".env", "A=b")
	s.write("family", "conf/.aws/credentials", "words")
	s.write("family", "dotfiles/ssh/work", "words")
	link(".ssh", "dotfiles/ssh")
	link("keys", ".ssh")
	link("away", "/workspace/group/conf")
	all := map[string]ipc.Request{
		"a link":              file(link("photo.jpg", ".env")),
		"an absolute link":    file(link("photo2.jpg", "/workspace/group/.env")),
		"a link to a link":    file(link("photo3.jpg", "photo.jpg")),
		"a link up and down":  file(link("pictures/photo.jpg", "../conf/../.env")),
		"a link's directory":  file("/workspace/group/.ssh/work"),
		"a link to that":      file("/workspace/group/keys/work"),
		"through a directory": file(link("pictures/list.txt", "../conf/.aws/credentials")),
		"where a link leads":  from("/tmp/photo.jpg -> /tmp/.env"),
		"where it was asked":  from("/root/.ssh/work -> /srv/dotfiles/work"),
	}
	for _, hidden := range []string{"\u200b", "\u00ad", "\u00a0", "\u202e", "\u2028"} {
		all["a name with "+hidden] = named(plain, ".env"+hidden)
		all["another with "+hidden] = named(plain, hidden+"safe.kdbx"+hidden)
		all["a path with "+hidden] = file(s.write("family", "x/safe.kdbx"+hidden, "words"))
		all["a copy of one with "+hidden] = from("/tmp/.env" + hidden)
		all["an archive with "+hidden] = file(s.write("family", fmt.Sprintf("a%x.zip", hidden), string(zipOf(s.t, "dir/.env"+hidden))))
	}
	return all
}

// TestAFileWasJudgedByTheNameThatWasAskedForAlone, at the dry run and at the copy.
func TestAFileWasJudgedByTheNameThatWasAskedForAlone(t *testing.T) {
	s := newSite(t)
	for what, r := range disguised(s) {
		if f := s.handle("family", r)[0]; f.Refusal == nil || f.Refusal.Code != screen.Code && f.Refusal.Code != "path_escapes" {
			t.Errorf("%s left: %+v", what, f)
		}
		_, err := s.Examine("family", r, s.Mounted("family"))
		if r := bridge.AsRefusal(err); r == nil || r.Code != screen.Code && r.Code != "path_escapes" {
			t.Errorf("dry run of %s: %v", what, err)
		}
	}
}

// TestAYesJudgedTheNameInTheChatAlone: a rule that comes while a file waits holds for every name
// that led to it.
func TestAYesJudgedTheNameInTheChatAlone(t *testing.T) {
	s := newSite(t)
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	off, err := screen.New([]string{"env-file", "ssh-key", "key-store", "credentials"}, nil)
	check(t, err)
	on, err := screen.New(nil, nil)
	check(t, err)
	s.set.ask = nil
	for what, r := range disguised(s) {
		s.set.deny = off
		fate := s.handle("family", r)[0]
		if !fate.Accepted {
			if !strings.HasPrefix(what, "a link up") { // which no screen has to judge
				t.Errorf("%s: %+v", what, fate)
			}
			continue
		}
		s.set.deny = on
		id := s.last()
		if r := bridge.AsRefusal(s.Decide(t.Context(), id, true, "operator")); r == nil || r.Code != screen.Code {
			t.Errorf("%s: a yes gave %+v", what, r)
		}
		check(t, s.Decide(t.Context(), id, false, "operator"))
	}
}

// last is the id of the last request.
func (s *site) last() string { return fmt.Sprintf("%04d", s.asked) }

// zipOf is a zip with an empty file of that name.
func zipOf(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	_, err := z.Create(name)
	check(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

// TestTheOperatorsLinkHidTheName of what it leads to.
func TestTheOperatorsLinkHidTheName(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	for _, name := range []string{".env", "dotfiles/work"} {
		check(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)))
	}
	for name, target := range map[string]string{"photo.jpg": ".env", "photo2.jpg": filepath.Join(dir, "photo.jpg"), ".ssh": "dotfiles", "keys": ".ssh"} {
		check(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for _, name := range []string{"photo.jpg", "photo2.jpg", ".ssh/work", "keys/work"} {
		_, err := s.SendFor(t.Context(), "family", file(filepath.Join(dir, name)), bridge.OpenOwn)
		if r := bridge.AsRefusal(err); r == nil || r.Code != screen.Code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.SendFor(t.Context(), "family", file(filepath.Join(dir, "dotfiles/work")), bridge.OpenOwn); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}
