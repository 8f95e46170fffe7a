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

// endpoint is an address at which an engine may listen.
type endpoint struct {
	host   string // in the form of DOCKER_HOST: unix:///run/docker.sock
	from   string // the setting that names it
	tls    tlsFiles
	chosen bool // a setting names this one, so no other is tried
}

// tlsFiles are the certificate files for an endpoint over TCP; empty: none.
type tlsFiles struct{ ca, cert, key string }

// endpoints lists the addresses to try, best first, in the order of the docker
// command: DOCKER_HOST; the context from DOCKER_CONTEXT or the configuration
// file; then podman's CONTAINER_HOST; then the default sockets, docker's before
// podman's.
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
	for _, socket := range defaultSockets(getenv) {
		found = append(found, endpoint{host: "unix://" + socket, from: "default"})
	}
	return found, nil
}

// defaultSockets lists the sockets that engines use by default.
func defaultSockets(getenv func(string) string) []string {
	run := getenv("XDG_RUNTIME_DIR")
	return slices.DeleteFunc([]string{
		"/var/run/docker.sock", filepath.Join(run, "docker.sock"),
		filepath.Join(run, "podman/podman.sock"), "/run/podman/podman.sock",
	}, func(path string) bool { return !filepath.IsAbs(path) })
}

// sockets lists all addresses at which any engine of this machine may listen,
// used or not: those in the variables and in all contexts, the default ones of
// every user, and those of containerd, which Docker uses.
func sockets(getenv func(string) string) []string {
	all := append(defaultSockets(getenv), "/run/containerd/containerd.sock", "/run/docker/containerd/containerd.sock")
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

// configDir returns the directory of the docker command's configuration.
func configDir(getenv func(string) string) string {
	return cmp.Or(getenv("DOCKER_CONFIG"), filepath.Join(getenv("HOME"), ".docker"))
}

// tlsOf returns the certificates for the engine that DOCKER_HOST names. The
// variables may be meant for another engine, so a socket gets none.
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

// readContext reads a context of the docker command. Its directory is named by
// the SHA-256 of the context's name.
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

// contextHost returns the engine that a context's file names; empty: none.
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

// contextHosts returns the engines that contexts name. It skips unreadable
// contexts.
func contextHosts(config string) (hosts []string) {
	files, _ := filepath.Glob(filepath.Join(config, "contexts", "meta", "*", "meta.json"))
	for _, file := range files {
		if host, err := contextHost(file); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
