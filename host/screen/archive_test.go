package screen_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/screen"
)

// zipped is a zip of empty files, whose last one is a secret.
func zipped(t *testing.T, before int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range before {
		// Stored: a compressor for each file took most of the time under the race detector.
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("project/node_modules/some-package/lib/%06d.js", i), Method: zip.Store}); err != nil {
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

// TestATarWithADocumentInItHidItsNames: the screen took it for the zip that such a document
// is, and a gzip with the header of a zip in its comment, too.
func TestATarWithADocumentInItHidItsNames(t *testing.T) {
	s, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, harmless := tarred(t, "home/.ssh/id_rsa"), tarred(t, "home/notes.txt")
	const header = "see PK\x03\x04"
	old := bytes.Clone(tarred(t, ".env")) // as before POSIX: without a magic, and with another checksum
	sum := 0
	clear(old[257:265])
	copy(old[148:156], "        ")
	for _, b := range old[:512] {
		sum += int(b)
	}
	copy(old[148:156], fmt.Sprintf("%06o\x00 ", sum))
	for name, tt := range map[string]struct {
		content []byte
		leaves  bool
	}{
		"a tar":                        {secret, false},
		"a tar with nothing secret":    {harmless, true},
		"a tar in an old form":         {old, false},
		"a tar that looks like UTF-16": {tarred(t, "\xff\xfenotes.txt", ".env"), false},
		"a tar, packed":                {packed(t, "", "", secret), false},
		"packed, with a comment":       {packed(t, "", header, secret), false},
		"packed, with a long comment":  {packed(t, "", strings.Repeat(header, 1000), secret), false},
		"a key, with a comment":        {packed(t, ".ssh/work", header, []byte("words")), false},
		"a key, with a long comment":   {packed(t, "id_rsa", strings.Repeat(header, 1000), []byte("words")), false},
		"a long name":                  {packed(t, strings.Repeat("x/", 4000)+"id_rsa", header, []byte("words")), false},
		"a harmless one":               {packed(t, "notes.tar", strings.Repeat(header, 1000), harmless), true},
	} {
		if err := s.Check(bytes.NewReader(tt.content), int64(len(tt.content)), "a.bin"); (err == nil) != tt.leaves {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tarred is a tar of files of these names and of a document.
func tarred(t *testing.T, names ...string) []byte {
	t.Helper()
	var document, b bytes.Buffer
	z := zip.NewWriter(&document)
	if _, err := z.Create("word/document.xml"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(&b)
	for i, name := range append(names, "plan.docx") {
		content := []byte("words")
		if i == len(names) {
			content = document.Bytes()
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed is a gzip with this name and comment.
func packed(t *testing.T, name, comment string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment = name, comment
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
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
