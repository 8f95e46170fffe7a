package push

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

const platformKey = "push"

// Platform returns the HTTP push channel for the host's table. There is no account to
// link: the secret is one.
func Platform() channel.Platform { return platform{} }

type platform struct{}

func (platform) Key() string { return platformKey }

func (platform) Help() string {
	return "A program of your own: it gets each message as a signed POST, and posts back what members write."
}

func (platform) Owns(chat groups.JID) bool { return chat.Channel() == platformKey }

func (platform) Settings() channel.Settings {
	return &Settings{Listen: "127.0.0.1:8430", MaxFile: 100 << 20}
}

// Settings are the channel's part of longshore.yaml.
type Settings struct {
	URL        string         `yaml:"url" form:"url" required:"true" restart:"true" help:"Where messages are posted."`
	Secret     setting.Secret `yaml:"secret" restart:"true" help:"Signs messages and replies, from the environment: whsec_ and the base64 of 24 to 64 bytes. While it is replaced: the new and the old one."`
	SecretFile string         `yaml:"secret_file" restart:"true" help:"The file that holds the secret."`
	Listen     string         `yaml:"listen" restart:"true" help:"host:port where replies are taken."`
	Host       string         `yaml:"host" form:"host" restart:"true" help:"A name under which a proxy serves that address."`
	FilesFrom  []string       `yaml:"files_from" restart:"true" help:"Where members' files may lie: a name, a name that begins with a dot for all below it, or scheme://host:port."`
	MaxFile    setting.Size   `yaml:"max_file" above:"0" restart:"true" help:"The largest file, either way."`
}

// ListensAt implements channel.ListenSettings.
func (s *Settings) ListensAt() string { return s.Listen }

const makeSecret = "make one with: echo whsec_$(openssl rand -base64 32)"

// Check looks for what would keep the channel from starting.
func (s *Settings) Check(c channel.Checker) {
	if _, err := s.poster(); err != nil {
		c.Bad("url", err.Error(), "write it whole, such as https://desk.example.org/longshore")
	}
	if _, err := s.files(); err != nil {
		c.Bad("files_from", err.Error(), "write a name such as files.example.org, or scheme://host:port")
	}
	c.Secret("secret", &s.Secret, s.SecretFile)
	if !c.Has("secret") && !c.Has("secret_file") {
		c.Bad("secret", "messages and replies are not signed", "set secret: ${NAME} or secret_file:; "+makeSecret)
	} else if _, err := httpd.ParseWebhookKeys(s.Secret.Reveal()); err != nil && s.Secret.Reveal() != "" { // else only the service has it
		c.Bad("secret", err.Error(), makeSecret)
	}
	if _, port, err := net.SplitHostPort(s.Listen); err != nil || port == "" {
		c.Bad("listen", fmt.Sprintf("%q is no address to listen at", s.Listen), "write host:port, such as 127.0.0.1:8430")
	}
}

// Limits implements channel.Settings.
func (s *Settings) Limits() media.Limits {
	const text = 64 << 10
	l := media.Limits{Kinds: map[media.Kind]media.Limit{}, Text: text, Files: maxFiles, Threads: true}
	for _, kind := range media.Kinds() {
		l.Kinds[kind] = media.Limit{Bytes: int64(s.MaxFile), Caption: text, Album: "files"}
	}
	return l
}

// Examine implements channel.Platform: it tries both addresses.
func (platform) Examine(ctx context.Context, s channel.Setup, running bool) []finding.Finding {
	set := s.Settings.(*Settings)
	e := channel.Examination{Channel: s.Name}
	if u, err := url.Parse(set.URL); err == nil {
		if u.Scheme == "http" && !httpd.Loopback(u.Hostname()) {
			e.Found(finding.Warning, "texts and files go to "+u.Host+" unencrypted", "use https, or a network that nobody else reads")
		}
		if err := channel.Unreachable(ctx, u); err != nil {
			e.Found(finding.Warning, "the receiver cannot be reached: "+err.Error(), "start the receiver, or correct url")
		}
	}
	if taken := httpd.Taken(set.Listen); !running && taken != nil {
		e.Found(finding.Fault, "replies cannot be taken: "+taken.Error(), "end the program that has the address, or name another one in channels."+s.Name+".listen")
	}
	if len(e.All) == 0 {
		e.Found(finding.Fine, "the receiver can be reached", "")
	}
	return e.All
}

// poster reaches the receiver, as the operator wrote its address.
func (s *Settings) poster() (*http.Client, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	origin := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	return transfer.New(transfer.Options{Origins: []string{origin.String()}})
}

// files asks for members' files, where the operator says that they may lie.
func (s *Settings) files() (*http.Client, error) {
	var o transfer.Options
	for _, from := range s.FilesFrom {
		if strings.Contains(from, "://") {
			o.Origins = append(o.Origins, from)
		} else {
			o.Hosts = append(o.Hosts, from)
		}
	}
	return transfer.New(o)
}
