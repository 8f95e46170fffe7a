package audit

import (
	"os"
	"path/filepath"
	"testing"
)

// noted is a closed trail with two entries, whose newest file is noted elsewhere.
func noted(t *testing.T) Options {
	t.Helper()
	at := t.TempDir()
	o := quiet(filepath.Join(at, "audit"))
	o.Mark = filepath.Join(at, "mark")
	l := open(t, o)
	if Gone(o.Dir, o.Mark) {
		t.Error("a trail that has no entry yet is gone")
	}
	l.Add(sent(1), sent(2))
	closed(t, l)
	return o
}

// TestADeletedTrailWasANewOne: the next start made a new key, and verified what followed as it was written.
func TestADeletedTrailWasANewOne(t *testing.T) {
	for name, remove := range map[string]func(o Options) error{
		"the directory": func(o Options) error { return os.RemoveAll(o.Dir) },
		"the file":      func(o Options) error { return os.Remove(filepath.Join(o.Dir, "000000000001.jsonl")) },
		"the newest file": func(o Options) error {
			o.most = 1
			l, err := Open(o)
			if err == nil {
				l.Add(sent(3))
				err = l.Close()
			}
			if err == nil {
				err = os.Remove(filepath.Join(o.Dir, "000000000003.jsonl"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := noted(t)
			if Gone(o.Dir, o.Mark) {
				t.Error("a whole trail is gone")
			}
			if err := remove(o); err != nil {
				t.Fatal(err)
			}
			if !Gone(o.Dir, o.Mark) {
				t.Error("nobody knows that it is gone")
			}
			l := open(t, o)
			l.Add(sent(4))
			if at, _ := l.Broken(); at == nil || !at.Gone {
				t.Errorf("the host that goes on says: %v", at)
			}
			closed(t, l)
			gaps := 0
			if err := Search(t.Context(), Files(o.Dir), func(e Entry) error {
				if e.Event == "gap" {
					gaps++
				}
				return nil
			}); err != nil || gaps != 1 {
				t.Errorf("%d entries say so, %v", gaps, err)
			}
			l = open(t, o)
			if at, _ := l.Broken(); at != nil || Gone(o.Dir, o.Mark) {
				t.Errorf("after another start: %v", at)
			}
			closed(t, l)
		})
	}
}

// TestEntriesWentIntoADeletedFile: the directory was not made again, and what was accepted since then had no file to be in.
func TestEntriesWentIntoADeletedFile(t *testing.T) {
	o := noted(t)
	newest := filepath.Join(o.Dir, "000000000001.jsonl")
	all, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(newest, append([]byte(" "), all...), 0o600); err != nil { // an older change must not hide it
		t.Fatal(err)
	}
	l := open(t, o)
	key := l.Mask("4917012345678@s.whatsapp.net")
	if at, _ := l.Broken(); at == nil || at.Gone {
		t.Errorf("a line was changed: %v", at)
	}
	if err := os.Rename(o.Dir, o.Dir+" away"); err != nil {
		t.Fatal(err)
	}
	if at, _ := l.Broken(); at == nil || !at.Gone {
		t.Errorf("the directory is away: %v", at)
	}
	if err := os.Rename(o.Dir+" away", o.Dir); err != nil {
		t.Fatal(err)
	}
	if at, _ := l.Broken(); at == nil || at.Gone {
		t.Errorf("it is back: %v", at)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	l.Add(sent(3))
	l.Add(sent(4))
	if at, _ := l.Broken(); at == nil || !at.Gone {
		t.Errorf("after further entries: %v", at)
	}
	closed(t, l)
	if s, err := Verify(t.Context(), Files(o.Dir), ""); err != nil || s.First != 3 || s.Last != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	l = open(t, o)
	if at, _ := l.Broken(); at != nil || l.Mask("4917012345678@s.whatsapp.net") != key {
		t.Errorf("after the restart: %v, or the key is another one", at)
	}
	closed(t, l)
}
