package screen_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/longshore-bridge/longshore/host/screen"
)

// TestANameLeftWithACharacterThatNobodySees: ".e\u200cnv" left, since Persian names keep the joiner.
// Every character that Unicode does not show is tried, in a name and in an archive.
func TestANameLeftWithACharacterThatNobodySees(t *testing.T) {
	s := rules(t)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if _, err := z.Create("a/.e\u200cnv"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Check(bytes.NewReader(archive.Bytes()), int64(archive.Len()), "a.zip") == nil {
		t.Error("it leaves in a zip")
	}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			continue
		}
		for _, name := range []string{".e" + string(r) + "nv", "id_r" + string(r) + "sa", ".ss" + string(r) + "h/a", "." + string(r) + "env", ".env" + string(r)} {
			if s.Check(strings.NewReader("x"), 1, name) == nil {
				t.Errorf("%+q leaves", name)
			}
		}
	}
	for _, name := range []string{"نامه\u200cها.pdf", "👩\u200d🚀.png"} {
		if err := s.Check(strings.NewReader("x"), 1, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACopyOfASecretsFileLeft: an editor's copies and other usual names passed.
func TestACopyOfASecretsFileLeft(t *testing.T) {
	s := rules(t)
	refused := []string{
		".env~", "#.env#", ".env-prod", ".env_prod", ".env.prod~", "prod.env", "a/app.env~", "id_ed25519~", "#id_rsa#", "id_rsa.bak", "id_rsa.old",
		"state/audit/key", "outbox.db-wal", "outbox.db-shm", "outbox.db-journal", "sender-key", "state/longshore.db", "channels/web/web.db",
	}
	for _, name := range refused {
		if s.Check(strings.NewReader("x"), 1, name) == nil {
			t.Errorf("%s leaves", name)
		}
	}
	for _, name := range []string{"environment.md", ".env.example", ".env-sample", "example.env", "sample.env", "my_.env.md", "id_rsa.pub", "id_rsa.pub.bak", "tasks.db", "audit/key.md", "monkey"} {
		if err := s.Check(strings.NewReader("x"), 1, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const database = "SQLite format 3\x00 ...CREATE TABLE longshore_store (name TEXT NOT NULL"
	if hit, err := s.Hit(strings.NewReader(database), int64(len(database)), "notes.bin"); err != nil || hit != "own-database" {
		t.Errorf("a database of the host's under another name: %q, %v", hit, err)
	}
	if _, err := screen.New([]string{"own-database"}, nil); err != nil {
		t.Error(err)
	}
}
