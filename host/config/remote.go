package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// Remote is where assistants are let in by HTTP. Without Listen there is none.
type Remote struct {
	Listen     string   `yaml:"listen" help:"host:port, or unix: and the absolute path of a socket. Nowhere without it."`
	Hosts      []string `yaml:"hosts" form:"host" help:"Names that it answers to beside those of loopback and its address, as a proxy calls it."`
	Everywhere bool     `yaml:"everywhere" help:"Allows an address that stands for all of the machine's, such as 0.0.0.0."`

	Limits RemoteLimits `yaml:"limits" help:"Bounds of what comes."`
}

// RemoteLimits bound what comes in by HTTP, beside the limits of every group.
type RemoteLimits struct {
	Fields     Size     `yaml:"fields" min:"1KiB" help:"Bytes of a call without its file."`
	Buffer     Size     `yaml:"buffer" min:"1KiB" max:"256MiB" help:"Bytes of a file in base64 in a call, decoded."`
	Uploads    int      `yaml:"uploads" min:"1" max:"1000" help:"Uploads of a group that are not whole."`
	UploadFor  Duration `yaml:"upload_for" min:"1m" help:"How long an upload is kept after its last byte."`
	Header     Size     `yaml:"header" min:"8KiB" max:"1MiB" help:"Bytes of a request before its body."`
	HeaderTime Duration `yaml:"header_time" min:"1s" help:"How long they may take."`
	Speed      Size     `yaml:"speed" min:"1" help:"Bytes a second of the slowest body."`
	Grace      Duration `yaml:"grace" min:"1s" help:"How far a body may fall behind that."`
	Group      int      `yaml:"connections" min:"1" max:"100000" help:"Connections of a group."`
	Strangers  int      `yaml:"strangers" min:"1" max:"100000" help:"Connections that have shown no token."`
}

const remoteExample = "write host:port, such as 127.0.0.1:8430, or unix:/run/longshore/remote.sock"

// remote checks who can reach the listener for assistants elsewhere.
func (c *checker) remote() {
	const key = "remote.listen"
	listen := c.cfg.Remote.Listen
	if path, socket := strings.CutPrefix(listen, "unix:"); socket {
		if !filepath.IsAbs(path) || len(path) > 100 {
			c.bad(key, "the socket has no absolute path of at most 100 bytes", remoteExample)
		}
		return
	}
	if listen == "" {
		if c.has("remote") && !c.has("remote.limits") { // assistants of the host come in without an address
			c.bad("remote", "there is no address", "add listen: 127.0.0.1:8430, or remove remote:")
		}
		return
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" {
		c.bad(key, fmt.Sprintf("%q is no address", listen), remoteExample)
		return
	}
	if ip, err := netip.ParseAddr(host); (host == "" || err == nil && ip.IsUnspecified()) && !c.cfg.Remote.Everywhere {
		c.bad(key, "this stands for all addresses of the machine", "name one of them; or, if all are meant, add everywhere: true")
		return
	}
	if !httpd.Loopback(host) {
		c.warn(key, "tokens and files go over the network unencrypted", "listen on 127.0.0.1 and let a proxy with TLS, or ssh -L, lead there")
	}
}

// Elsewhere is the runtime of an assistant that the host does not start: it fetches its
// messages by HTTP.
const Elsewhere = "remote"

// The values of an assistant's ClaudeChannel. Empty: no session gets messages pushed.
const (
	ClaudeMessages    = "messages"
	ClaudePermissions = "permissions"
)

// elsewhere refuses what an assistant that the host does not start cannot have.
func (c *checker) elsewhere(name string) {
	key := "assistants." + name
	for _, of := range []string{"agent", "command", "image", "share", "network", "env", "env_from_file", "keys", "provider_tools", "idle_timeout", "memory", "cpus", "pids"} {
		if c.has(key + "." + of) {
			c.bad(key+"."+of, "the host does not start an assistant with runtime: remote", "leave the key out, and set it where the assistant runs")
		}
	}
	if c.cfg.Assistants[name].ClaudeChannel == ClaudePermissions && c.cfg.Approval.Group == "" {
		c.bad(key+".claude_channel", "nobody is named who may answer", "name a chat and its members in approval, or write claude_channel: messages")
	}
	if c.cfg.Remote.Listen == "" {
		c.bad(key+".runtime", "an assistant elsewhere fetches its messages by HTTP, and the host does not listen for it", "add remote: {listen: 127.0.0.1:8430}; see docs/remote.md")
	}
}
