package command

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestWhyCountsWhatHadNoTriggerAndNamesABrokenTurn writes as a member on the page.
func TestWhyCountsWhatHadNoTriggerAndNamesABrokenTurn(t *testing.T) {
	h := newChanging(t, `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
assistants: {broken: {agent: command, command: ["false"]}}
groups: [{folder: family, chat: "web:family", trigger: "@Andy", assistant: broken, gather: {after: 0s}}]
`)
	asked := func(wanted int, args ...string) string {
		var out bytes.Buffer
		if code := run(context.Background(), "", allPlatforms(), append([]string{"-c", h.file}, args...), nil, &out, &out); code != wanted {
			return ""
		}
		return out.String()
	}
	h.say("family", "hello?")
	h.until("the count", func() bool {
		return strings.Contains(asked(exitOK, "why", "family"), "must have @Andy; 1 message since the host's start had not")
	})
	h.say("family", "@Andy, hello?")
	h.until("the broken turn", func() bool {
		out := asked(exitFailed, "why", "family")
		return strings.Contains(out, "no  turn") && strings.Contains(out, "to do: tail -n 20 ")
	})
	h.until("the turn that was given up", func() bool {
		out := asked(exitOK, "status")
		return strings.Contains(out, "the last turn failed: ")
	})
}
