package screen_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/screen"
)

// zipped is a zip of empty files, whose last one is a secret.
func zipped(t *testing.T, before int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range before {
		if _, err := z.Create(fmt.Sprintf("project/node_modules/some-package/lib/%06d.js", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := z.Create("project/.env"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Programs unpack all of these, and the screen saw no name in them.
func TestAZipWhoseDirectoryIsNotWhereItClaimsHidItsNames(t *testing.T) {
	s, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := zipped(t, 0)
	length := bytes.Clone(plain)
	binary.LittleEndian.PutUint32(length[len(length)-10:], 7)
	var outer, named bytes.Buffer
	z := zip.NewWriter(&outer)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "inner.zip", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(&named)
	g.Name = "id_rsa"
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"as it is":                      plain,
		"with a program before it":      append([]byte("#!/bin/sh\nexec unzip $0\n"), plain...),
		"with bytes behind it":          append(bytes.Clone(plain), make([]byte, 70_000)...),
		"with an end in its comment":    append(append(bytes.Clone(plain[:len(plain)-2]), 22, 0), append([]byte("PK\x05\x06"), make([]byte, 18)...)...),
		"with another length":           length,
		"in a zip that does not pack":   outer.Bytes(),
		"of more than a MiB of names":   zipped(t, 12_000),
		"of more files than zip counts": zipped(t, 66_000),
		"one file, by gzip":             named.Bytes(),
	} {
		if err := s.Check(bytes.NewReader(content), int64(len(content)), "a.bin"); err == nil {
			t.Errorf("%s: it leaves", name)
		}
	}
	for name, content := range map[string]string{
		"words about zips": "a zip begins with PK\x03\x04, and its directory with PK\x01\x02",
		"half a header":    "PK\x03\x04" + strings.Repeat("\x00", 26),
	} {
		if err := s.Check(strings.NewReader(content), int64(len(content)), "a.txt"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An assistant makes names of nothing but slashes: each is looked at from each of its parts on.
func TestANameOfSlashesDoesNotOccupyTheScreen(t *testing.T) {
	s, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	header := "PK\x01\x02" + strings.Repeat("\x00", 24) + "\x00\x10" + strings.Repeat("\x00", 16)
	content := strings.Repeat(header+strings.Repeat("a/", 2048), 512)
	start := time.Now()
	if err := s.Check(strings.NewReader(content), int64(len(content)), "a.zip"); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A key is a key in a quotation, in a program's text and on a page too.
func TestAKeyInAQuotationOrAPageLeft(t *testing.T) {
	s, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"-----BEGIN PRIVATE KEY-----", strings.Repeat("MC4CAQAwBQYDK2Vw", 4), "-----END PRIVATE KEY-----"}
	for _, newline := range []string{"\n> ", "\n# ", "\n // ", `\n`, `\\n`, `\u000a`, "<br>\n", "<BR/>", "&#10;", "\",\n\"", "\" +\n  \""} {
		text := strings.Join(lines, newline)
		if err := s.Check(strings.NewReader(text), int64(len(text)), "a.txt"); err == nil {
			t.Errorf("%q: it leaves", newline)
		}
	}
	for _, text := range []string{"-----BEGIN PRIVATE KEY-----\n> ...", "-----BEGIN PRIVATE KEY-----<br>MIIE..."} {
		if err := s.Check(strings.NewReader(text), int64(len(text)), "a.txt"); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
