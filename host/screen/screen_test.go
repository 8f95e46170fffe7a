package screen_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/screen"
)

func TestTheOperatorsRules(t *testing.T) {
	s, err := screen.New([]string{"env-file"}, []screen.Pattern{{Rule: "dumps", Name: `\.sql$`}, {Rule: "drafts", Name: `\.md$`, Content: `(?i)confidential`}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".env": "", "a.sql": "dumps", "a.md": "drafts", "a.txt": ""} {
		err := s.Check(strings.NewReader("Confidential"), 12, name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "(rule "+want+")") {
			t.Errorf("%s: %v, want rule %q", name, err, want)
		}
	}
	for _, bad := range []screen.Pattern{{Rule: "x"}, {Rule: "x", Name: "("}, {Rule: "x", Content: strings.Repeat("a", screen.MaxPattern+1)}} {
		if _, err := screen.New(nil, []screen.Pattern{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("a.txt", []byte("-----BEGIN PRIVATE KEY-----\n"))
	f.Add("a.zip", []byte("PK\x03\x04PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00"))
	f.Add("a.tgz", []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0})
	f.Add("\xff/.env", []byte("\xff\xfea\x00"))
	s, err := screen.New(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		first := s.Check(bytes.NewReader(content), int64(len(content)), name)
		again := s.Check(bytes.NewReader(content), int64(len(content)), name)
		if (first == nil) != (again == nil) {
			t.Errorf("once %v, once %v", first, again)
		}
	})
}

// BenchmarkCheck is what a file costs: a small text, and any large file.
func BenchmarkCheck(b *testing.B) {
	s, err := screen.New(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, size := range map[string]int{"4KiB": 4 << 10, "large": 8 << 20} {
		content := bytes.Repeat([]byte("a line of some text - with words_in it\n"), size/39+1)[:size]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := s.Check(bytes.NewReader(content), int64(size), "/workspace/group/report.txt", "report.txt"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestANameThatTheToolMadeSafePassedTheScreen: send_attachment makes .env to _.env before the
// host sees it.
func TestANameThatTheToolMadeSafePassedTheScreen(t *testing.T) {
	s, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", ".env.production", ".netrc", ".pgpass"} {
		for _, given := range []string{name, "_" + name, "dir/_" + name} {
			if err := s.Check(strings.NewReader("A=b"), 3, given); err == nil {
				t.Errorf("%s passes", given)
			}
		}
	}
	for _, name := range []string{"_.txt", "my_.env.md", "a_.b"} {
		if err := s.Check(strings.NewReader("A=b"), 3, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
