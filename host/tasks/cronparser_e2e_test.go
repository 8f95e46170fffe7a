//go:build e2e

package tasks_test

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

//go:embed testdata/cronparser
var cronParser embed.FS

type expression struct {
	Expression string    `json:"expression"`
	After      time.Time `json:"after"`
}

// field is a random field of a cron expression.
func field(r *rand.Rand, low, high int) string {
	n := func() int { return low + r.IntN(high-low+1) }
	span := func() (int, int) { a, b := n(), n(); return min(a, b), max(a, b) }
	switch r.IntN(7) {
	case 0, 1:
		return "*"
	case 2:
		return "*/" + strconv.Itoa(1+r.IntN(high/2))
	case 3:
		a, b := span()
		return fmt.Sprintf("%d-%d", a, b)
	case 4:
		a, b := span()
		return fmt.Sprintf("%d-%d/%d", a, b, 1+r.IntN(5))
	case 5:
		a, b := span()
		if a < b { // the other parser refuses a value that is there twice
			return fmt.Sprintf("%d,%d", a, b)
		}
	}
	return strconv.Itoa(n())
}

func expressions() (all []expression) {
	r := rand.New(rand.NewPCG(1, 2))
	for len(all) < 1000 {
		day, weekday := field(r, 1, 28), field(r, 0, 7)
		switch r.IntN(8) {
		case 0:
			day = []string{"L", "L," + strconv.Itoa(1+r.IntN(28))}[r.IntN(2)]
		case 1:
			weekday = strconv.Itoa(r.IntN(8)) + "#" + strconv.Itoa(1+r.IntN(5))
		case 2:
			weekday = []string{strconv.Itoa(r.IntN(8)) + "L", "FRIL", "1,6L", "?"}[r.IntN(4)]
		}
		text := strings.Join([]string{field(r, 0, 59), field(r, 0, 23), day, field(r, 1, 12), weekday}, " ")
		if strings.HasSuffix(text, " 0,7") { // refused too, as twice Sunday
			continue
		}
		after := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
		all = append(all, expression{text, after})
	}
	return all
}

// TestCronMeansWhatNanoClawUnderstands compares 1,000 expressions with the parser that
// NanoClaw v1 uses.
func TestCronMeansWhatNanoClawUnderstands(t *testing.T) {
	modules := npmtest.Modules(t, cronParser, "testdata/cronparser")
	all := expressions()
	in, err := json.Marshal(all)
	must(t, err)
	program, err := filepath.Abs("testdata/cronparser/next.mjs")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "node", program, modules)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	var want [][]string
	if err != nil || json.Unmarshal(out, &want) != nil || len(want) != len(all) {
		t.Fatalf("%v: %.1000s", err, out)
	}
	refused := 0
	for i, e := range all {
		if want[i][0] == "refused" {
			refused++
		}
		if diff := cmp.Diff(want[i], ours(e)); diff != "" {
			t.Errorf("%q after %v: %s", e.Expression, e.After, diff)
		}
	}
	t.Logf("%d expressions, %d of them refused by both", len(all), refused)
}

func ours(e expression) (all []string) {
	s, err := tasks.Parse(tasks.Cron, e.Expression, time.UTC)
	if err != nil {
		return []string{"refused"}
	}
	for at := e.After; len(all) < 5; {
		at = s.Next(at)
		all = append(all, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return all
}
