package config

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// OverSSH is the runtime of an assistant that the host starts on another machine.
const OverSSH = "ssh"

// SSH is an account on another machine.
type SSH struct {
	Host       string `yaml:"host" help:"Its name or address, with :PORT if that is not 22."`
	User       string `yaml:"user" help:"The account there. It should be the assistant's alone."`
	Key        string `yaml:"key" help:"File with the private key for it, without a passphrase."`
	KnownHosts string `yaml:"known_hosts" help:"File that names the machine's key, as ssh-keyscan writes it."`
}

var plainUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// overSSH checks the machine of an assistant, and refuses what belongs to a container.
func (c *checker) overSSH(key string, a *Assistant) {
	if a.Runtime != OverSSH {
		if c.has(key + ".ssh") {
			c.bad(key+".ssh", "only runtime: ssh has a machine", "set runtime: ssh, or leave ssh: out")
		}
		return
	}
	for _, of := range []string{"image", "share", "network", "memory", "cpus", "pids"} {
		if c.has(key + "." + of) {
			c.bad(key+"."+of, "this is a container's, and runtime: ssh has none", "leave the key out")
		}
	}
	c.machine(key+".ssh", &a.SSH)
}

// machine checks an account on another machine.
func (c *checker) machine(at string, m *SSH) {
	host, port, err := net.SplitHostPort(m.Host)
	if err != nil {
		host, port = m.Host, "22"
	}
	if host == "" || port == "" || strings.ContainsAny(m.Host, " /@\t") {
		c.bad(at+".host", "there is no machine", "write its name or address, such as build.example or 192.0.2.7:2222; the account goes into user:")
	}
	if !plainUser.MatchString(m.User) {
		c.bad(at+".user", "there is no account", "write the name of the account on the machine")
	}
	for name, file := range map[string]*string{"key": &m.Key, "known_hosts": &m.KnownHosts} {
		*file = c.expandHome(*file)
		c.written[at+"."+name] = *file
		if info, err := os.Stat(*file); !filepath.IsAbs(*file) || err != nil || !info.Mode().IsRegular() {
			c.down(at+"."+name, "there is no such file", "write its absolute path; docs/remote.md says how it is made")
		}
	}
}
