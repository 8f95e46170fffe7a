package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPromiseHasItsTest reads the last table of docs/security.md: each
// promise names the tests that try to break it, each of those tests exists, and
// each promise that README makes is in the table.
func TestEveryPromiseHasItsTest(t *testing.T) {
	rows := promises(t)
	if len(rows) < 20 {
		t.Fatalf("docs/security.md lists %d promises; the table was not found", len(rows))
	}
	exist := testNames(t)
	for promise, tests := range rows {
		if len(tests) == 0 {
			t.Errorf("%q names no test", promise)
		}
		for _, name := range tests {
			if !exist[name] {
				t.Errorf("%q names %s, which does not exist", promise, name)
			}
		}
	}
	for _, promise := range readmePromises(t) {
		if _, ok := rows[promise]; !ok {
			t.Errorf("README promises %q; the table of docs/security.md does not have that promise", promise)
		}
	}
}

var quotedTest = regexp.MustCompile("`([a-z0-9/]+\\.(?:Test|Fuzz)[A-Za-z0-9_]+)`")

// promises maps each promise of docs/security.md to its tests, as
// "directory.TestName".
func promises(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for _, row := range tableRows(t, "../docs/security.md", "## The test of each promise") {
		var tests []string
		for _, m := range quotedTest.FindAllStringSubmatch(row[len(row)-1], -1) {
			tests = append(tests, m[1])
		}
		rows[row[0]] = tests
	}
	return rows
}

func readmePromises(t *testing.T) (names []string) {
	t.Helper()
	for _, row := range tableRows(t, "../README.md", "## What it promises") {
		names = append(names, row[0])
	}
	if len(names) == 0 {
		t.Error("README.md has no table of promises")
	}
	return names
}

// tableRows are the cells of all tables between a heading and the next one of
// its level, without the head of each table.
func tableRows(t *testing.T, file, heading string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", file, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	body := false
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|---"):
			body = true
		case body:
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)

// testNames are all tests and fuzz targets of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for dir, files := range packages(t) {
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join("..", dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				names[dir+"."+string(m[1])] = true
			}
		}
	}
	return names
}
