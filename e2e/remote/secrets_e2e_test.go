//go:build e2e

package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/screen/screentest"
)

// TestSixtySecretsLeaveInNoneOfFiveWays: no assistant's program gets a secret out, by a
// tool, from outside the workspace, by a line of its answer, by the drop directory, or as
// main to another chat; and whoever asks is told the rule.
func TestSixtySecretsLeaveInNoneOfFiveWays(t *testing.T) {
	secrets := screentest.Secrets()
	names := slices.Sorted(maps.Keys(secrets))
	l := newLeaving(t, secrets)
	refused := 0
	fiveWays(names, func(way, folder string, names []string) {
		l.tell(folder, way, names)
		refused += len(names)
		stage.Eventually(t, fmt.Sprintf("%d files are refused, the last ones by way of %s", refused, way), func() bool { return l.screened() >= refused })
		if told, err := os.ReadFile(filepath.Join(l.layout.Workspace(folder), "told-"+way+".txt")); err == nil && strings.Count(string(told), "(rule ") != len(names) {
			t.Errorf("%s: the assistant was told %d rules for %d files:\n%s", way, strings.Count(string(told), "(rule "), len(names), told)
		}
	})
	if n := l.screened(); n != refused {
		t.Errorf("%d refusals, want %d", n, refused)
	}
	for _, chat := range []string{"push:desk", "push:ops"} {
		if left := l.arrived(chat); len(left) > 0 {
			t.Errorf("%d files reached %s", len(left), chat)
		}
	}
}

// TestFortyHarmlessFilesLeaveInEachOfFiveWays byte for byte.
func TestFortyHarmlessFilesLeaveInEachOfFiveWays(t *testing.T) {
	harmless := screentest.Harmless()
	names := slices.Sorted(maps.Keys(harmless))
	l := newLeaving(t, harmless)
	var want []string
	fiveWays(names, func(way, folder string, names []string) {
		for _, name := range names {
			sum := sha256.Sum256([]byte(harmless[name]))
			want = append(want, hex.EncodeToString(sum[:]))
		}
		slices.Sort(want)
		l.tell(folder, way, names)
		stage.Eventually(t, fmt.Sprintf("%d files have arrived, the last ones by way of %s", len(want), way), func() bool {
			return len(l.arrived("push:desk")) >= len(want) || l.screened() > 0
		})
	})
	if got := l.arrived("push:desk"); !slices.Equal(got, want) {
		t.Errorf("%d files arrived, want %d, %d were screened", len(got), len(want), l.screened())
	}
}
