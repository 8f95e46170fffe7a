//go:build e2e

package engines

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// TestAMessageWaitsForItsImage has a member write before the operator has built the
// image. The chat is told, the message is kept, and it is answered by itself once the
// image is there.
func TestAMessageWaitsForItsImage(t *testing.T) {
	t.Parallel()
	const image = "longshore-test/late:here"
	built := containertest.AgentImage(t, "none")
	h := newBoxesOf(t, 1, `{runtime: docker, agent: sample, image: "`+image+`", network: none, memory: 64MiB}`)
	forget := func() {
		h.api.ImageRemove(context.Background(), image, client.ImageRemoveOptions{}) //nolint:errcheck // it may not be there
	}
	forget()
	t.Cleanup(forget)
	opened := h.openWith(slog.New(slog.DiscardHandler))
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	began := time.Now()
	asked := h.say(m, "help")
	h.answeredWith(m, asked, "The assistant's image is missing. An operator has to see to it. Your message is kept for 24 hours")
	t.Logf("| image missing | %.0f s |", time.Since(began).Seconds())
	h.waitsFor(opened, "g0", cause.Image)
	if _, err := h.api.ImageTag(t.Context(), client.ImageTagOptions{Source: built, Target: image}); err != nil {
		t.Fatal(err)
	}
	h.answeredWith(m, asked, "report")
}

// waitsFor checks the cause that operators see.
func (h *boxes) waitsFor(opened *serve.Host, folder string, want cause.Cause) {
	h.Helper()
	s, err := opened.Local(true).Status(context.Background())
	if err != nil {
		h.Fatal(err)
	}
	for _, a := range s.Assistants {
		if a.Group == folder && a.Cause == string(want) {
			return
		}
	}
	h.Errorf("status says %+v, want the cause %s for %s", s.Assistants, want, folder)
}
