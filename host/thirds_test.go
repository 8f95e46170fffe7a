package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CI tests a third of some things each day. Three days must test each of them once, and none must take far longer
// than the others.
func TestThreeDaysTestEverythingOnce(t *testing.T) {
	packages := listed(t, "costs")
	for i := range 40 {
		packages["other "+strconv.Itoa(i)] = 2
	}
	threeDays(t, packages)
	threeDays(t, listed(t, "dear"))
}

// listed returns the costs of a list below .ci, each of something that is there: a directory or one of its tests.
func listed(t *testing.T, list string) map[string]int {
	lines, err := os.ReadFile("../.ci/" + list)
	if err != nil {
		t.Fatal(err)
	}
	cost := map[string]int{}
	for line := range strings.Lines(string(lines)) {
		if words := strings.Fields(line); !strings.HasPrefix(line, "#") {
			if cost[words[0]], err = strconv.Atoi(words[1]); err != nil {
				t.Errorf("%s: %v", words[0], err)
			}
			dir, name, _ := strings.Cut(words[0], ":")
			files, _ := filepath.Glob("../" + dir + "/*.go")
			if !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && (name == "" || strings.Contains(string(text), "\nfunc "+name+"("))
			}) {
				t.Errorf("a cost for %s, which is not there", words[0])
			}
		}
	}
	return cost
}

// threeDays fails the test unless three days test all of cost once, and none far more than another.
func threeDays(t *testing.T, cost map[string]int) {
	all := slices.Sorted(maps.Keys(cost))
	var tested []string
	var sums []int
	for _, day := range []string{"20", "21", "22"} {
		cmd := exec.CommandContext(t.Context(), "../.ci/third")
		cmd.Env, cmd.Stdin = append(os.Environ(), "LONGSHORE_DAY="+day), strings.NewReader(strings.Join(all, "\n")+"\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines, sum := strings.Split(strings.TrimSpace(string(out)), "\n"), 0
		for _, line := range lines {
			sum += cost[line]
		}
		tested, sums = append(tested, lines...), append(sums, sum)
	}
	slices.Sort(tested)
	if !slices.Equal(all, tested) {
		t.Errorf("of %q, three days test %q", all, tested)
	}
	if slices.Max(sums) > slices.Min(sums)*5/4 {
		t.Errorf("the thirds cost %d", sums)
	}
}
