package command

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// TestPodmanWithoutCatatonitIsSaidByDoctorWhyAndTheChat: its API answers, and it starts no
// container. The assistant failed three times, and no message named the missing package.
func TestPodmanWithoutCatatonitIsSaidByDoctorWhyAndTheChat(t *testing.T) {
	t.Setenv("DOCKER_HOST", containertest.Podman(t, "container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory"))
	h := stage.NewChanging(t, `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
assistants: {helper: {runtime: docker, agent: sample, image: "longshore-agent:here"}}
groups: [{folder: family, chat: "web:family", assistant: helper, gather: {after: 0s}}]
`)
	says := func(args ...string) string {
		var out bytes.Buffer
		Run(context.Background(), "", stage.AllPlatforms(), append([]string{"-c", h.File}, args...), nil, &out, &out)
		return out.String()
	}
	for _, args := range [][]string{{"doctor"}, {"why", "family"}} { // before a member has written
		if out := says(args...); !strings.Contains(out, "catatonit: no such file") || !strings.Contains(out, "the engine needs the package catatonit, which is not installed") {
			t.Errorf("%q says\n%s", args, out)
		}
	}
	h.Say("family", "hello?")
	chat := "The container engine does not start the assistant: the package catatonit is missing. An operator has to see to it. Your message is kept for 24 hours and answered after that."
	h.Until("the chat's message", func() bool { return slices.Contains(h.Texts("family"), chat) })
	h.Until("the fault", func() bool {
		out := says("status")
		return strings.Contains(out, "fault "+string(cause.Start)) && strings.Contains(out, "the engine needs the package catatonit, which is not installed")
	})
}
