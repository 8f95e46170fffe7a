package docker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// TestPodmanTellsItsRights asks a Podman that says of itself what it says to a
// user, to whom systemd leaves some limits or none, and to root.
func TestPodmanTellsItsRights(t *testing.T) {
	for _, tc := range []struct {
		name, said string
		rootless   bool
		lacks      []string
	}{
		{"user", `{"host":{"cgroupControllers":["memory","pids"],"security":{"rootless":true}}}`, true, []string{"cpus"}},
		{"user without limits", `{"host":{"cgroupControllers":null,"security":{"rootless":true}}}`, true, []string{"cpus", "memory", "pids"}},
		{"root", `{"host":{"cgroupControllers":[],"security":{"rootless":false}}}`, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			serve := http.NewServeMux()
			for pattern, answer := range map[string]string{
				"/_ping":              "OK",
				"/v1.41/info":         `{"ServerVersion":"4.3.1","OperatingSystem":"debian","Architecture":"amd64","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true}`,
				"/v1.41/version":      `{"Version":"4.3.1","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}`,
				"/v4.0.0/libpod/info": tc.said,
			} {
				serve.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Api-Version", "1.41")
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, answer)
				})
			}
			podman := httptest.NewServer(serve)
			defer podman.Close()
			engine, err := docker.Connect(t.Context(), func(name string) string {
				return map[string]string{"DOCKER_HOST": strings.Replace(podman.URL, "http:", "tcp:", 1)}[name]
			})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			facts := engine.Facts()
			if facts.Name != "Podman 4.3.1 on debian" || facts.Rootless != tc.rootless || !slices.Equal(facts.Lacks, tc.lacks) {
				t.Errorf("it is %+v; want rootless %v, lacking %q", facts, tc.rootless, tc.lacks)
			}
		})
	}
}
