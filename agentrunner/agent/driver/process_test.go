package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gone waits for the kernel to have taken away what was killed.
func gone(t *testing.T, mark string) {
	t.Helper()
	waitFor(t, func() bool { return len(marked(mark)) == 0 })
}

// waitFor looks until it is so; what it looks at tells of no change itself.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("never")
		}
	}
}

// marked lists the processes with the mark in their environment.
func marked(mark string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(env), mark) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
