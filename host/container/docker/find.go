package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// endpoint is where an engine may listen.
type endpoint struct {
	host   string // as DOCKER_HOST has it: unix:///run/docker.sock
	from   string // what named it
	tls    tlsFiles
	chosen bool // somebody asked for this one, so no other is tried
}

// tlsFiles are the paths that an endpoint over TCP needs; empty: none.
type tlsFiles struct{ ca, cert, key string }

// endpoints lists where to look for an engine, best first. As the docker
// command does: DOCKER_HOST, then the context that DOCKER_CONTEXT or the
// configuration file names, then the default sockets; and podman's
// CONTAINER_HOST and sockets after those of docker.
func endpoints(getenv func(string) string) ([]endpoint, error) {
	config := cmp.Or(getenv("DOCKER_CONFIG"), filepath.Join(getenv("HOME"), ".docker"))
	if host := getenv("DOCKER_HOST"); host != "" {
		return []endpoint{{host: host, from: "DOCKER_HOST", chosen: true, tls: tlsOf(host, config, getenv)}}, nil
	}
	if name := cmp.Or(getenv("DOCKER_CONTEXT"), currentContext(config)); name != "" && name != "default" {
		e, err := readContext(config, name)
		if err != nil {
			return nil, err
		}
		return []endpoint{e}, nil
	}
	if host := getenv("CONTAINER_HOST"); host != "" {
		return []endpoint{{host: host, from: "CONTAINER_HOST", chosen: true}}, nil
	}
	var found []endpoint
	run := getenv("XDG_RUNTIME_DIR")
	for _, socket := range []string{
		"/var/run/docker.sock", filepath.Join(run, "docker.sock"),
		filepath.Join(run, "podman/podman.sock"), "/run/podman/podman.sock",
	} {
		if filepath.IsAbs(socket) {
			found = append(found, endpoint{host: "unix://" + socket, from: "default"})
		}
	}
	return found, nil
}

// tlsOf finds the certificates for the engine that DOCKER_HOST names. Its
// variables may be set for another one: a socket needs none.
func tlsOf(host, config string, getenv func(string) string) tlsFiles {
	dir := getenv("DOCKER_CERT_PATH")
	if dir == "" && getenv("DOCKER_TLS_VERIFY") != "" {
		dir = config
	}
	if dir == "" || !strings.HasPrefix(host, "tcp:") && !strings.HasPrefix(host, "https:") {
		return tlsFiles{}
	}
	return tlsFiles{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

func currentContext(config string) string {
	var c struct {
		CurrentContext string `json:"currentContext"`
	}
	data, err := os.ReadFile(filepath.Join(config, "config.json"))
	if err != nil || json.Unmarshal(data, &c) != nil {
		return ""
	}
	return c.CurrentContext
}

// readContext reads a context where the docker command keeps it: below the
// SHA-256 of its name.
func readContext(config, name string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	data, err := os.ReadFile(filepath.Join(config, "contexts", "meta", id, "meta.json"))
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("read docker context %q: %w", name, err)
	}
	host := meta.Endpoints["docker"].Host
	if host == "" {
		return endpoint{}, fmt.Errorf("docker context %q names no engine", name)
	}
	e := endpoint{host: host, from: "context " + name, chosen: true}
	dir := filepath.Join(config, "contexts", "tls", id, "docker")
	for file, to := range map[string]*string{"ca.pem": &e.tls.ca, "cert.pem": &e.tls.cert, "key.pem": &e.tls.key} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			*to = filepath.Join(dir, file)
		}
	}
	return e, nil
}
