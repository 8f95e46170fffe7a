package command

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

// TestASizeFromAMessageMeansTheSameInTheConfiguration reads what messages say
// of the limits as longshore.yaml would.
func TestASizeFromAMessageMeansTheSameInTheConfiguration(t *testing.T) {
	sizes := []int64{64 << 10, 1 << 30, 2 << 40}
	for _, limits := range []media.Limits{media.DefaultLimits(), whatsapp.DefaultLimits()} {
		for _, limit := range limits.Kinds {
			sizes = append(sizes, limit.Bytes)
		}
	}
	for _, n := range sizes {
		for _, words := range []string{media.Size(n), config.Size(n).String()} {
			var read config.Size
			if err := read.UnmarshalText([]byte(words)); err != nil || int64(read) != n {
				t.Errorf("%d bytes are called %q, which is %d in longshore.yaml, %v", n, words, read, err)
			}
		}
	}
}

// TestLimitsAreToldInTheUnitOfTheMessages looks for a decimal unit where the
// number is a limit of ours, which is never one.
func TestLimitsAreToldInTheUnitOfTheMessages(t *testing.T) {
	files := []string{"../../docs/web.md", "../../docs/whatsapp.md", "../../docs/assistant-authors.md", "../../docs/members.md", "../../docs/tutorial.md", "../../docs/protocol.md", "../../docs/security.md", "../../docs/operations.md", "../../docs/cli.md"}
	tools, err := filepath.Glob("../../agentrunner/tools/*.md")
	if err != nil || len(tools) == 0 {
		t.Fatalf("descriptions of the tools: %v, %v", tools, err)
	}
	decimal := regexp.MustCompile(`\d ?[KMGT]B\b`)
	for _, name := range append(files, tools...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range decimal.FindAllIndex(text, -1) {
			t.Errorf("%s: %q", name, text[max(0, found[0]-30):min(len(text), found[1]+30)])
		}
	}
}
