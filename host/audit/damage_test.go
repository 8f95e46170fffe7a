package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A full disk takes half a line, and the half cannot be removed at once: nothing may be
// written behind it, or the chain is broken for good.
func TestNothingIsWrittenBehindHalfALine(t *testing.T) {
	o := quiet(t.TempDir())
	l := open(t, o)
	l.Add(sent(1))
	whole := l.kept.(*fileKeeper).file
	half, err := os.OpenFile(whole.Name(), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = half.WriteString(`{"n":2,"time":"20`)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.kept.(*fileKeeper).torn = true
	if l.kept.(*fileKeeper).file, err = os.Open(whole.Name()); err != nil { // takes neither a write nor a cut
		t.Fatal(err)
	}
	l.Add(sent(2))
	if l.failing == nil || len(l.pending) != 1 {
		t.Errorf("failing: %v, %d wait", l.failing, len(l.pending))
	}
	_, _ = l.kept.(*fileKeeper).file.Close(), half.Close()
	l.kept.(*fileKeeper).file = whole
	closed(t, l)
	if s, err := Verify(t.Context(), Files(o.Dir), ""); err != nil || s.Entries != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWhatWasDoneToTheEndOfAnOpenTrailWasFoundByVerifyAlone, and hidden behind the next line.
func TestWhatWasDoneToTheEndOfAnOpenTrailWasFoundByVerifyAlone(t *testing.T) {
	for name, change := range map[string]func(path string, all []byte) error{
		"cut off":  func(path string, all []byte) error { return os.Truncate(path, int64(len(all)-9)) },
		"extended": func(path string, all []byte) error { return os.WriteFile(path, append(all, 'x'), 0o600) },
		"changed": func(path string, all []byte) error {
			return os.WriteFile(path, append(all[:len(all)-9:len(all)-9], "00000000\n"...), 0o600)
		},
		"replaced": func(path string, all []byte) error {
			lines := bytes.SplitAfter(all, []byte("\n"))
			e, err := parse(lines[1])
			if err != nil {
				return err
			}
			e.Group = "gamily"
			out := bytes.NewBuffer(lines[0])
			if _, err = encode(out, &e); err != nil {
				return err
			}
			return os.WriteFile(path, out.Bytes(), 0o600)
		},
		"deleted": func(path string, _ []byte) error { return os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, quiet(t.TempDir()))
			defer closed(t, l)
			if at, _ := l.Broken(); at != nil {
				t.Errorf("an empty trail: %v", at)
			}
			l.Add(sent(1), sent(2))
			if at, _ := l.Broken(); at != nil {
				t.Errorf("a whole trail: %v", at)
			}
			path := l.kept.(*fileKeeper).file.Name()
			all, err := os.ReadFile(path)
			if err == nil {
				err = change(path, bytes.Clone(all))
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if at, before := l.Broken(); at == nil || at.Gone != (name == "deleted") || !at.Gone && (at.Line != 2 || before < 1) {
					t.Errorf("%v, behind %d entries", at, before)
				}
				l.Add(sent(3))
			}
		})
	}
}

// A group asked for a member's chat that it may not send to: the refusal names the chat.
func TestARefusalOfAChatHasNoNumberInTheTrail(t *testing.T) {
	o := quiet(t.TempDir())
	l := open(t, o)
	l.Add(Entry{Event: "refused", Message: "this group may not send to 4917012345678@s.whatsapp.net"},
		Entry{Event: "refused", Message: `"4917012345678:3@c.us" or 4917012345678-1612345678@g.us`},
		Entry{Event: "refused", Message: strings.Repeat("x", maxMessage-20) + " 4917012345678@s.whatsapp.net"},
		Entry{Event: "refused", Message: "no group is registered for 120363041234567890@g.us"})
	want := "this group may not send to " + l.Mask("4917012345678@s.whatsapp.net")
	closed(t, l)
	var all []string
	if err := Search(t.Context(), Files(o.Dir), func(e Entry) error { all = append(all, e.Message); return nil }); err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	if all[0] != want {
		t.Errorf("%q, want %q", all[0], want)
	}
	if strings.Contains(strings.Join(all, " "), "49170") {
		t.Errorf("a number in clear: %q", all)
	}
	if !strings.HasSuffix(all[3], "120363041234567890@g.us") {
		t.Errorf("a group's id, which is no number, is hidden: %q", all[3])
	}
}

// With an empty key everybody can make the hash of each number, and compare.
func TestADamagedKeyHidesNoNumbers(t *testing.T) {
	o := quiet(t.TempDir())
	path := filepath.Join(o.Dir, "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "may be moved away") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, o))
}

// One line that is too long is damage in one file: the other files can be searched.
func TestASearchGoesOnBehindAFileWithALineThatIsTooLong(t *testing.T) {
	dir := trail(t, 60)
	all, err := files(dir)
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	if err := os.WriteFile(all[1], []byte(strings.Repeat("x", maxLine+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var last int64
	if err := Search(t.Context(), Files(dir), func(e Entry) error { last = e.Number; return nil }); err != nil || last != 60 {
		t.Errorf("up to %d, %v", last, err)
	}
	if _, err := Verify(t.Context(), Files(dir), ""); err == nil || !strings.Contains(err.Error(), filepath.Base(all[1])+", line 1: a line of more than") {
		t.Errorf("%v", err)
	}
}

// Only the log said that the trail could not be written: entries waited, and no view had a word of it.
func TestATrailThatCouldNotBeWrittenWasSilent(t *testing.T) {
	l := open(t, quiet(t.TempDir()))
	defer closed(t, l)
	l.Add(sent(1))
	k := l.kept.(*fileKeeper)
	good := k.file
	var err error
	if k.file, err = os.Open(good.Name()); err != nil { // takes no writes
		t.Fatal(err)
	}
	l.Add(sent(2))
	if waiting, why := l.Failing(); waiting != 1 || why == nil {
		t.Errorf("%d wait: %v", waiting, why)
	}
	if err := k.file.Close(); err != nil {
		t.Error(err)
	}
	k.file = good
	if err := l.sync(); err != nil {
		t.Error(err)
	}
	if waiting, why := l.Failing(); waiting != 0 || why != nil {
		t.Errorf("written again, %d wait: %v", waiting, why)
	}
}

// A line that was changed before the start was in the log alone, while the host ran.
func TestALineThatWasChangedBeforeTheStartWasForgotten(t *testing.T) {
	dir := trail(t, 60)
	all, err := files(dir)
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	path := all[len(all)-2]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"family"`), []byte(`"gamily"`), 2), 0o600); err != nil {
		t.Fatal(err)
	}
	s, want := Verify(t.Context(), Files(dir), "")
	l := open(t, quiet(dir))
	defer closed(t, l)
	l.Add(sent(100))
	if at, before := l.Broken(); at == nil || want == nil || at.Error() != want.Error() || before != s.Entries {
		t.Errorf("%v, behind %d entries; Verify has %v, behind %d", at, before, want, s.Entries)
	}
}
