//go:build e2e

package slack

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// Every kind that Slack's own types for Node name has a row, too.
func TestEveryKindOfSlacksOwnTypesHasARow(t *testing.T) {
	all, dist := schema(t), filepath.Join(slacktest.Types(t), "dist")
	read := func(pattern string) (text string) {
		names, err := filepath.Glob(filepath.Join(dist, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text += string(data)
		}
		return text
	}
	// A declaration begins in the first column, and its own fields stand four columns in.
	declared := func(text, of string) string {
		return strings.Join(regexp.MustCompile(`(?m)^(export )?(interface|type) `+of+`[\s\S]*?^\}`).FindAllString(text, -1), "\n")
	}
	find := func(text, pattern string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	messages, kind, field := read("events/message.d.ts"), `(?m)^    type: '(\w+)'`, `(?m)^    (\w+)\??: `
	for section, names := range map[string][]string{
		"event":      find(read("events/*.d.ts"), kind),
		"subtype":    find(messages, `subtype: '(\w+)'`),
		"message":    find(declared(messages, `\w+Event\b`), field),
		"attachment": find(declared(read("message-attachments.d.ts"), `MessageAttachment\b`), field),
		"block":      find(declared(read("block-kit/blocks.d.ts"), `\w+Block\b`), kind),
		"element":    find(declared(read("block-kit/block-elements.d.ts"), `RichText\w+`), kind),
	} {
		if len(names) < 14 {
			t.Errorf("the types have %d of %s: %v", len(names), section, names)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if _, ok := all[section+" "+name]; !ok {
				t.Errorf("%s %s has no row in testdata/schema.txt", section, name)
			}
		}
	}
}
