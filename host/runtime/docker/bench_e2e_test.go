//go:build e2e

package docker_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// BenchmarkFirstPrompt is the time from the start of a group's container to
// the sample agent's answer to the first prompt, beside what the engine takes to
// bring the first word out of a container of the same image without any limit
// or mount. The container's end is in neither.
func BenchmarkFirstPrompt(b *testing.B) {
	w := newWorld(b)
	w.runtime.Image = containertest.AgentImage(b, "none")
	spec := w.spec("")
	spec.Command, spec.Input = nil, []byte(`{"prompt":"help"}`)
	api := engineAPI(b)
	var floor, ours []time.Duration
	for b.Loop() {
		floor = append(floor, bareWord(b, api, w.runtime.Image))
		began := time.Now()
		s := w.start(spec)
		out, ok := <-s.Outputs()
		if !ok || out.Result == nil {
			b.Fatalf("no answer: %+v; the log:\n%s", out, w.log())
		}
		ours = append(ours, time.Since(began))
		s.Stop(b.Context())
	}
	slices.Sort(ours)
	slices.Sort(floor)
	p50, base := ours[len(ours)/2], floor[len(floor)/2]
	b.ReportMetric(p50.Seconds()*1000, "p50-ms")
	b.ReportMetric(base.Seconds()*1000, "floor-ms")
	b.ReportMetric(float64(p50)/float64(base), "x-floor")
}

// bareWord returns the time from making a container to its first word.
func bareWord(b *testing.B, api *client.Client, name string) time.Duration {
	b.Helper()
	began := time.Now()
	made, err := api.ContainerCreate(b.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: name, Entrypoint: []string{"/bin/echo", "word"}, AttachStdout: true},
		HostConfig: &container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer api.ContainerRemove(b.Context(), made.ID, client.ContainerRemoveOptions{Force: true})
	stream, err := api.ContainerAttach(b.Context(), made.ID, client.ContainerAttachOptions{Stream: true, Stdout: true})
	if err != nil {
		b.Fatal(err)
	}
	defer stream.Close()
	if _, err := api.ContainerStart(b.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(stream.Reader, make([]byte, len("\x01\x00\x00\x00\x00\x00\x00\x05word\n"))); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkImageSize tells the size of each image that the tests have built,
// by its agent, beside the Debian below all of them. It builds none.
func BenchmarkImageSize(b *testing.B) {
	base := containertest.Base(b)
	api := engineAPI(b)
	size := func(name string) float64 {
		found, err := api.ImageInspect(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		return float64(found.Size) / 1e6
	}
	floor := size(base)
	for _, agent := range []string{"none", "claude", "codex", "gemini", "opencode", "full"} {
		b.Run(agent, func(b *testing.B) {
			images, err := api.ImageList(b.Context(), client.ImageListOptions{Filters: client.Filters{}.Add("reference", "longshore-test/"+agent)})
			if err != nil {
				b.Fatal(err)
			}
			if len(images.Items) == 0 {
				b.Skip("no such image here")
			}
			newest := slices.MaxFunc(images.Items, func(x, y image.Summary) int { return int(x.Created - y.Created) })
			var mb float64
			for b.Loop() {
				mb = size(newest.ID)
			}
			b.ReportMetric(mb, "MB")
			b.ReportMetric(floor, "base-MB")
			b.ReportMetric(mb/floor, "x-base")
		})
	}
}
