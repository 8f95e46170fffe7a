package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestThePageKnowsWhichWordCallsTheAssistant asks the page's API, which has the word
// unless the group gives no hints.
func TestThePageKnowsWhichWordCallsTheAssistant(t *testing.T) {
	const form = `channels: {web: {listen: "%%LISTEN%%"}}
limits: {free_disk: 1MB}
assistants: {echo: {agent: command, command: [cat]}}
groups: [{folder: family, chat: "web:family", trigger: "@Andy", assistant: echo%s}]
`
	h := stage.NewChanging(t, fmt.Sprintf(form, ""))
	if got := string(h.Get("/api/chats")); !strings.Contains(got, `"trigger":"@Andy"`) {
		t.Errorf("the page is told %s", got)
	}
	h.Say("family", "hello?")
	h.Reload(fmt.Sprintf(form, ", hints: off"))
	if got := string(h.Get("/api/chats")); strings.Contains(got, "trigger") {
		t.Errorf("without hints the page is told %s", got)
	}
	if texts := h.Texts("family"); len(texts) > 0 {
		t.Errorf("the page shows the word, and the host says %q too", texts)
	}
}
