package containertest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Docker serves the part of Docker's API that a host asks before a container runs, at a unix socket,
// until end or the test's end. It has every image, and starts nothing.
func Docker(t testing.TB, socket string) (end func()) {
	t.Helper()
	api := http.NewServeMux()
	for pattern, body := range map[string]string{
		"/_ping": "OK", "/v1.41/version": `{"Version":"20.10.24"}`, "/v1.41/containers/json": `[]`,
		"/v1.41/info":    `{"ServerVersion":"20.10.24","OperatingSystem":"debian","Architecture":"x86_64","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true}`,
		"/v1.41/images/": `{"Id":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`,
	} {
		api.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: api}} //nolint:gosec // a test's
	server.Start()
	end = sync.OnceFunc(server.Close)
	t.Cleanup(end)
	return end
}

// Podman serves the part of Podman 4's API that a host asks before a container runs, on
// loopback, and returns its address in the form of DOCKER_HOST. It has every image, and
// refuses to create containers with these words.
func Podman(t testing.TB, refusal string) string {
	t.Helper()
	api := http.NewServeMux()
	answer := func(pattern string, status int, body string) {
		api.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	answer("/_ping", http.StatusOK, "OK")
	answer("/v1.41/info", http.StatusOK, `{"ServerVersion":"4.3.1","OperatingSystem":"debian","Architecture":"amd64","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true}`)
	answer("/v1.41/version", http.StatusOK, `{"Version":"4.3.1","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}`)
	answer("/v4.0.0/libpod/info", http.StatusOK, `{"host":{"security":{"rootless":false}}}`)
	answer("/v1.41/containers/json", http.StatusOK, `[]`)
	answer("/v1.41/images/", http.StatusOK, `{"Id":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`)
	answer("/v1.41/containers/create", http.StatusInternalServerError, `{"cause":"no such file or directory","message":"`+refusal+`","response":500}`)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "tcp:", 1)
}
