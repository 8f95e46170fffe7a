package command

import (
	"fmt"
	"strings"
	"testing"
)

// TestThePageKnowsWhichWordCallsTheAssistant asks the page's API, which has the word
// unless the group gives no hints.
func TestThePageKnowsWhichWordCallsTheAssistant(t *testing.T) {
	const form = `channels: {web: {listen: "%%LISTEN%%"}}
limits: {free_disk: 1MB}
assistants: {echo: {agent: command, command: [cat]}}
groups: [{folder: family, chat: "web:family", trigger: "@Andy", assistant: echo%s}]
`
	h := newChanging(t, fmt.Sprintf(form, ""))
	if got := string(h.get("/api/chats")); !strings.Contains(got, `"trigger":"@Andy"`) {
		t.Errorf("the page is told %s", got)
	}
	h.say("family", "hello?")
	h.reload(fmt.Sprintf(form, ", hints: off"))
	if got := string(h.get("/api/chats")); strings.Contains(got, "trigger") {
		t.Errorf("without hints the page is told %s", got)
	}
	if texts := h.texts("family"); len(texts) > 0 {
		t.Errorf("the page shows the word, and the host says %q too", texts)
	}
}
