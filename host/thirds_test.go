package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CI tests a third of some things each day. Three days must test each of them once, and none must take far longer
// than the others.
func TestThreeDaysTestEverythingOnce(t *testing.T) {
	costs, err := os.ReadFile("../.ci/costs")
	if err != nil {
		t.Fatal(err)
	}
	cost, all := map[string]int{}, []string{}
	for line := range strings.Lines(string(costs)) {
		if words := strings.Fields(line); !strings.HasPrefix(line, "#") {
			all = append(all, words[0])
			if cost[words[0]], err = strconv.Atoi(words[1]); err != nil {
				t.Errorf("%s: %v", words[0], err)
			}
			if _, err := os.Stat("../" + words[0]); err != nil {
				t.Errorf("a cost for what is not there: %v", err)
			}
		}
	}
	for i := range 40 {
		all = append(all, "other "+strconv.Itoa(i))
	}
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
			sum += max(1, cost[line])
		}
		tested, sums = append(tested, lines...), append(sums, sum)
	}
	slices.Sort(all)
	slices.Sort(tested)
	if !slices.Equal(all, tested) {
		t.Errorf("of %q, three days test %q", all, tested)
	}
	if slices.Max(sums) > slices.Min(sums)*5/4 {
		t.Errorf("the thirds cost %d", sums)
	}
}
