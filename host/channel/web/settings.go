package web

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/webpush"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/media"
)

var (
	contactForm = regexp.MustCompile(`^(mailto:[^\s@]+@[^\s@]+|https://[^\s/]+.*)$`)
	serviceForm = regexp.MustCompile(`^\.?([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+$`)
)

// Settings are the channel's part of longshore.yaml.
type Settings struct {
	Listen       string         `yaml:"listen" restart:"true" help:"host:port. Beyond loopback only with a token."`
	URL          string         `yaml:"url" restart:"true" form:"url" help:"What members' browsers call it, behind a proxy."`
	Proxies      []string       `yaml:"proxies" restart:"true" help:"Addresses or networks of the proxies before the page. Only what these write into X-Forwarded-For is believed."`
	Token        setting.Secret `yaml:"token" restart:"true" help:"What a browser must present, from the environment."`
	TokenFile    string         `yaml:"token_file" restart:"true" help:"The file that holds the token."`
	Upload       setting.Size   `yaml:"upload" above:"0" help:"The largest file that a member may send."`
	PushContact  string         `yaml:"push_contact" restart:"true" help:"Turns on notifications while no page is open (Web Push): how a push service reaches the operator, mailto:… or https://…."`
	PushText     bool           `yaml:"push_text" restart:"true" help:"Notifications hold the beginning of the message. Otherwise only the chat's name."`
	PushServices []string       `yaml:"push_services" restart:"true" help:"Hosts of browsers' push services, in place of those of Chrome, Firefox, Edge and Safari: a name, a name that begins with a dot for all below it, or scheme://host:port."`

	PublicURL  string           `yaml:"public_url" form:"url" help:"Offers links: files that are too large for a chat are kept and fetched from https://… by members. A proxy passes /links/ there to listen."`
	LinkExpiry setting.Duration `yaml:"link_expiry" above:"0" help:"How long a link can be followed."`
	LinkSize   setting.Size     `yaml:"link_size" above:"0" help:"The largest file that goes as a link."`
	LinkQuota  setting.Size     `yaml:"link_quota" above:"0" help:"What the files behind a group's links may have in all."`

	Keep     setting.Duration `yaml:"keep" help:"How long a chat keeps messages and their files. 0s is for ever."`
	Messages int              `yaml:"messages" min:"0" help:"How many messages a chat keeps. 0: any number."`
	History  setting.Size     `yaml:"history" help:"How much a chat's files may have before its oldest messages are deleted. 0: none are, and at 10 GiB new files are refused."`
}

// Limits implements channel.Settings. No key changes them.
func (s *Settings) Limits() media.Limits { return defaultLimits() }

// defaultLimits returns limits with long texts: the page shows their Markdown.
func defaultLimits() media.Limits {
	l := media.DefaultLimits()
	l.Text, l.Markup = maxText, media.MarkupMarkdown
	l.Poll = media.PollLimit{Choices: 20, Choice: 200, Question: 2000}
	for _, kind := range []media.Kind{media.Video, media.Audio} {
		limit := l.Kinds[kind]
		limit.MIME, limit.Codecs = media.BrowserTypes(kind), media.BrowserCodecs()
		l.Kinds[kind] = limit
	}
	return l
}

// Settings returns the settings if every key is absent.
func (platform) Settings() channel.Settings {
	return &Settings{Listen: "127.0.0.1:8420", Upload: 100 << 20, LinkExpiry: setting.Duration(7 * 24 * time.Hour), LinkSize: 1 << 30, LinkQuota: 4 << 30,
		Keep: setting.Duration(365 * 24 * time.Hour), Messages: 100_000}
}

// ListensAt implements channel.ListenSettings.
func (s *Settings) ListensAt() string { return s.Listen }

// Check refuses settings that would open the page to everybody, or keep the channel from
// starting.
func (s *Settings) Check(c channel.Checker) {
	c.Secret("token", &s.Token, s.TokenFile)
	open := s.Token.IsZero() && !c.Has("token") && !c.Has("token_file")
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil || port == "" {
		c.Bad("listen", fmt.Sprintf("%q is no address to listen at", s.Listen), "write host:port, such as 127.0.0.1:8420")
	} else if open && !httpd.Loopback(host) {
		c.Bad("listen", fmt.Sprintf("%q can be reached from other machines, and there is no token", s.Listen),
			"listen at 127.0.0.1, or set token: ${NAME} or token_file:")
	}
	if u, err := url.Parse(s.URL); s.URL != "" && (err != nil || u.Host == "") {
		c.Bad("url", fmt.Sprintf("%q is no web address", s.URL), "write it whole, such as https://chat.example.org")
	} else if s.URL != "" && open {
		c.Bad("url", "other machines reach the page by this name, and there is no token", "set token: ${NAME} or token_file:")
	}
	if _, err := httpd.ParseProxies(s.Proxies); err != nil {
		c.Bad("proxies", err.Error(), "write them as 127.0.0.1 or 10.0.0.0/8")
	}
	s.checkLinks(c, open)
	s.tokenLength(c)
	s.checkPush(c)
	if s.History > 0 && s.History < s.Upload {
		c.Bad("history", fmt.Sprintf("one file of a member may be larger than that: upload is %s", s.Upload), "raise it, or lower upload")
	}
}

// push returns the settings of Web Push.
func (s *Settings) push() webpush.Settings {
	return webpush.Settings{Contact: s.PushContact, Text: s.PushText, Services: s.PushServices}
}

func (s *Settings) checkPush(c channel.Checker) {
	if s.PushContact != "" && !contactForm.MatchString(s.PushContact) {
		c.Bad("push_contact", fmt.Sprintf("%q is neither mailto: with an address nor https:// with one", s.PushContact), "write mailto:you@example.org")
	}
	for _, name := range s.PushServices {
		if !strings.Contains(name, "://") && !serviceForm.MatchString(name) {
			c.Bad("push_services", fmt.Sprintf("%q is not a host", name), "write a name such as push.example.org, or scheme://host:port")
		}
	}
	if err := s.push().Check(); err != nil {
		c.Bad("push_services", err.Error(), "write a name such as push.example.org, or scheme://host:port")
	}
}

// tokenLength refuses a token with which the channel does not start. A token that only the
// service's environment has is unknown here.
func (s *Settings) tokenLength(c channel.Checker) {
	key := "token"
	if s.TokenFile != "" {
		key += "_file"
	}
	if n := len(s.Token.Reveal()); n > 0 && n < httpd.MinToken {
		c.Bad(key, fmt.Sprintf("the token has %d characters, and %d are the fewest", n, httpd.MinToken), "make a random one: openssl rand -hex 16")
	}
}

// hosts returns the page's name in the public URL, if there is one.
func (s *Settings) hosts() []string {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{u.Host}
}

// Links implements channel.LinkSettings.
func (s *Settings) Links() (channel.LinkTerms, bool) {
	terms := channel.LinkTerms{
		URL: strings.TrimRight(s.PublicURL, "/"), For: s.LinkExpiry.Std(), Largest: int64(s.LinkSize), Quota: int64(s.LinkQuota),
	}
	return terms, s.PublicURL != ""
}

// checkLinks requires an address that members can open and nobody in between can read. A
// proxy serves it, so the page is behind the proxy too.
func (s *Settings) checkLinks(c channel.Checker, open bool) {
	if s.LinkQuota < s.LinkSize {
		c.Bad("link_quota", fmt.Sprintf("one file may be larger than that: link_size is %v", s.LinkSize), "raise it, or lower link_size")
	}
	if s.LinkExpiry.Std() > 365*24*time.Hour {
		c.Bad("link_expiry", "a link may be followed for a year at most", "write a shorter time, such as 168h")
	}
	if s.PublicURL == "" {
		return
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery ||
		strings.ContainsAny(s.PublicURL, "()<>[]*_~`|\\\"' \t") {
		c.Bad("public_url", fmt.Sprintf("%q is no address for links: it begins with https:// and has a host, perhaps a path, and nothing else", s.PublicURL),
			"write it as https://files.example.org")
		return
	}
	if open {
		c.Bad("public_url", "other machines reach the page through the proxy that serves this, and there is no token", "set token: ${NAME} or token_file:")
	}
}
