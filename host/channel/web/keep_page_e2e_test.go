//go:build e2e

package web_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// TestThePageSaysWhatIsNoLongerKept opens a chat before and after its beginning
// was deleted.
func TestThePageSaysWhatIsNoLongerKept(t *testing.T) {
	opts := options(t.TempDir())
	c := browsertest.Start(t)
	s := start(t, opts)
	s.send(channel.Message{Text: "old"})
	c.Open(s.at("/c/family"), desk).Wait(`document.getElementById("start").textContent === "This is where the chat begins."`)
	s.stop()
	age(t, opts.Dir, 91*day)
	opts.Keep = 90 * day
	s = start(t, opts)
	s.until("")
	p := c.Open(s.at("/c/family"), desk)
	p.Wait(`document.getElementById("start").textContent.startsWith("Nothing is kept here now")`)
	s.send(channel.Message{Text: "young"})
	p.Wait(`document.getElementById("start").textContent === "Earlier messages are no longer kept."`)
}
