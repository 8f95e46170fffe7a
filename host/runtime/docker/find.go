package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	config := configDir(getenv)
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
	for _, socket := range customary(getenv) {
		found = append(found, endpoint{host: "unix://" + socket, from: "default"})
	}
	return found, nil
}

// customary are the sockets that engines have unless told otherwise.
func customary(getenv func(string) string) []string {
	run := getenv("XDG_RUNTIME_DIR")
	return slices.DeleteFunc([]string{
		"/var/run/docker.sock", filepath.Join(run, "docker.sock"),
		filepath.Join(run, "podman/podman.sock"), "/run/podman/podman.sock",
	}, func(path string) bool { return !filepath.IsAbs(path) })
}

// sockets lists where any engine of this machine may listen, in use or not:
// those that the variables and all contexts name, the customary ones of every
// user, and containerd's, which Docker's runs on.
func sockets(getenv func(string) string) []string {
	all := append(customary(getenv), "/run/containerd/containerd.sock", "/run/docker/containerd/containerd.sock")
	for _, pattern := range []string{"/run/user/*/docker.sock", "/run/user/*/podman/podman.sock"} {
		users, _ := filepath.Glob(pattern) // the pattern is well-formed
		all = append(all, users...)
	}
	hosts := []string{getenv("DOCKER_HOST"), getenv("CONTAINER_HOST")}
	for _, host := range append(hosts, contextHosts(configDir(getenv))...) {
		if path, ok := strings.CutPrefix(host, "unix://"); ok {
			all = append(all, path)
		}
	}
	return all
}

// configDir is where the docker command keeps its configuration.
func configDir(getenv func(string) string) string {
	return cmp.Or(getenv("DOCKER_CONFIG"), filepath.Join(getenv("HOME"), ".docker"))
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
	host, err := contextHost(filepath.Join(config, "contexts", "meta", id, "meta.json"))
	if err != nil {
		return endpoint{}, fmt.Errorf("read docker context %q: %w", name, err)
	}
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

// contextHost is what a context's file names as its engine; empty: none.
func contextHost(file string) (string, error) {
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	return meta.Endpoints["docker"].Host, err
}

// contextHosts are the engines that contexts name. One that cannot be read
// names none.
func contextHosts(config string) (hosts []string) {
	files, _ := filepath.Glob(filepath.Join(config, "contexts", "meta", "*", "meta.json"))
	for _, file := range files {
		if host, err := contextHost(file); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
