package docker

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Two names of one engine: under the second, what ran under the first was ended as an earlier host's.
func TestContainersOfAnotherNameOfTheEngineAreNotEnded(t *testing.T) {
	var mu sync.Mutex
	var ended []string
	api := http.NewServeMux()
	answer := func(pattern, body string) {
		api.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
	}
	answer("/_ping", "OK")
	answer("/v1.41/info", "{}")
	answer("/v1.41/version", "{}")
	var all []string
	for _, engine := range []string{"", "dock", "quay", "former"} {
		all = append(all, fmt.Sprintf(`{"Id":"of-%s","Labels":{"longshore.group":"g-%s","longshore.engine":%q}}`, engine, engine, engine))
	}
	answer("/v1.41/containers/json", "["+strings.Join(all, ",")+"]")
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // it is gone already
		if r.Method == http.MethodDelete {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, filepath.Base(r.URL.Path))
		}
		http.Error(w, `{"message":"no such container"}`, http.StatusNotFound)
	})
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: api}} //nolint:gosec // a test's
	server.Start()
	defer server.Close()
	e, err := ConnectAt(t.Context(), func(string) string { return "" }, socket)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if left, err := e.Reap(t.Context(), "owner", "quay"); err != nil || !slices.Equal(left, []string{"g-", "g-dock", "g-former"}) || !slices.Equal(ended, []string{"of-", "of-dock", "of-former"}) {
		t.Errorf("ended %q and %q: %v", left, ended, err)
	}
}
