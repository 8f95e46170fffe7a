package config

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/distribution/reference"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/hostnames"
	"github.com/longshore-bridge/longshore/media"
)

// checker finds what is wrong in a configuration whose form is right, and
// fills in what depends on more than one key.
type checker struct {
	*source
	cfg  *Config
	env  func(string) string
	base string // directory of the configuration file, free of links

	secretFiles map[string]string // real path of each file a secret was read from, by its key
	written     map[string]string // path of each place that is opened, as the file has it but absolute, by its key
}

func (c *checker) check() {
	c.secretFiles, c.written = make(map[string]string), make(map[string]string)
	c.label("name", c.cfg.Name)
	c.oneOf("layout", c.cfg.Style, "longshore", "v1")
	c.oneOf("media_tools", c.cfg.MediaTools, "confined", "unconfined", "off")
	c.oneOf("log.level", c.cfg.Log.Level, "debug", "info", "warn", "error")
	c.oneOf("log.format", c.cfg.Log.Format, "auto", "text", "json")
	c.directories()
	c.metrics()
	c.channels()
	c.assistants()
	c.limits()
	c.groups()
	c.mounts()
	c.secretsHidden()
	c.throughWriters()
	c.advice()
}

// metrics checks where the metrics are. They need no token, so they stay on
// this machine.
func (c *checker) metrics() {
	for i, name := range c.cfg.Metrics.Hosts {
		if !hostPattern.MatchString(name) {
			c.bad(fmt.Sprintf("metrics.hosts[%d]", i), fmt.Sprintf("%q is not a host name", name), "write a name without scheme, port or path, such as metrics.example.org")
		}
	}
	if !c.has("metrics.listen") {
		return
	}
	host, port, err := net.SplitHostPort(c.cfg.Metrics.Listen)
	if err != nil || port == "" || !hostnames.Loopback(host) {
		c.bad("metrics.listen", fmt.Sprintf("%q is no loopback address", c.cfg.Metrics.Listen), "write host:port, such as 127.0.0.1:9420; a proxy may pass it on")
	}
}

// hostPattern is a host's name as the Host header has it, without the port.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// networkPattern is what an engine takes as a network's name; a mode with a
// colon would share another container's.
var networkPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// image checks the form of an image's name, or of its digest, as engines do.
func (c *checker) image(key, image string) {
	if _, err := reference.ParseAnyReference(image); err != nil {
		c.bad(key, fmt.Sprintf("%q is no name of an image", image),
			"write [registry/]name[:tag] in lower-case letters, digits and . _ -, such as longshore-agent:latest; the tag may have capitals")
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c *checker) assistants() {
	for name, a := range c.cfg.Assistants {
		key := "assistants." + name
		if !groups.FolderPattern.MatchString(name) {
			c.bad(key, fmt.Sprintf("%q is no name of an assistant", name), "use 1 to 64 letters, digits, _ and -")
		}
		c.oneOf(key+".runtime", a.Runtime, "process", "docker")
		c.oneOf(key+".agent", a.Agent, "sample", "command", "claude", "codex", "gemini", "opencode")
		if a.Agent == "command" && (len(a.Command) == 0 || a.Command[0] == "") {
			c.bad(key+".command", "agent: command needs a command", `write it as a list, such as ["my-agent", "--quiet"]`)
		} else if a.Runtime == "process" && len(a.Command) > 0 && strings.Contains(a.Command[0], "/") {
			a.Command[0] = c.expandHome(a.Command[0]) // it will run in the workspace
		}
		if a.Agent != "command" && len(a.Command) > 0 {
			c.bad(key+".command", "only agent: command takes a command", "set agent: command, or leave command: out")
		}
		if a.Runtime == "docker" {
			c.image(key+".image", a.Image)
		}
		if !networkPattern.MatchString(a.Network) {
			c.bad(key+".network", fmt.Sprintf("%q is no name of a network", a.Network), "write bridge, none, or one that docker network ls shows")
		}
		c.positive(key+".idle_timeout", int64(a.IdleTimeout))
		c.positive(key+".turn_timeout", int64(a.TurnTimeout))
		if a.Memory < 16<<20 {
			c.bad(key+".memory", "no agent runs in less than 16MiB", "leave the key out for its default, 2GiB")
		}
		c.positive(key+".pids", int64(a.Pids))
		if a.CPUs <= 0 || a.CPUs > 4096 {
			c.bad(key+".cpus", "at least part of a processor is needed", "write a number such as 0.5 or 2")
		}
		a.Env = c.environment(key, a)
		c.cfg.Assistants[name] = a
	}
}

// environment is the assistant's variables with their values.
func (c *checker) environment(key string, a Assistant) map[string]Secret {
	env := make(map[string]Secret, len(a.Env)+len(a.EnvFromFile))
	for name, value := range a.Env {
		at := key + ".env." + name
		c.variable(at, name)
		if text := value.Reveal(); !value.IsZero() && !envReference.MatchString(text) && (secretName.MatchString(name) || secretForm.MatchString(text)) {
			c.warn(at, "this looks like a secret, which does not belong in the configuration file",
				"write ${NAME} and set that variable, or name a file with env_from_file")
		}
		env[name] = c.expand(at, value)
	}
	for name, path := range a.EnvFromFile {
		at := key + ".env_from_file." + name
		c.variable(at, name)
		if _, twice := env[name]; twice {
			c.bad(at, name+" is set in env too", "leave one of the two out")
		}
		env[name] = c.readSecret(at, path)
	}
	return env
}

// secretName is what variables are called that hold secrets; one of many
// TOKENS counts something.
var secretName = regexp.MustCompile(`(?i)(^|_)(API)?(KEY|TOKEN|SECRET|PASSWORD)(_|$)`)

// secretForm is what the keys of models and chat platforms look like.
var secretForm = regexp.MustCompile(`^(sk-|sk_|ghp_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza)[A-Za-z0-9_-]{12,}$`)

func (c *checker) variable(key, name string) {
	if !envName.MatchString(name) {
		c.bad(key, fmt.Sprintf("%q is no name of a variable", name), "use letters, digits and _")
	}
}

func (c *checker) limits() {
	l := &c.cfg.Limits
	c.kinds("limits.files", l.Files)
	c.positive("limits.pending", int64(l.Pending))
	c.positive("limits.outbox", int64(l.Outbox))
	c.positive("limits.rate.per_minute", int64(l.Rate.PerMinute))
	c.positive("limits.rate.burst", int64(l.Rate.Burst))
	c.positive("limits.sends", int64(l.Sends))
	c.positive("limits.assistants", int64(l.Assistants))
	c.positive("limits.retry.max_age", int64(l.Retry.MaxAge))
	c.positive("limits.retry.first", int64(l.Retry.First))
	if l.Retry.Max < l.Retry.First {
		c.bad("limits.retry.max", "the longest pause is shorter than the first", "raise it, or lower limits.retry.first")
	}
}

// mediaKinds are the names of package media's kinds.
var mediaKinds = []string{"image", "video", "audio", "voice", "sticker", "document"}

func (c *checker) kinds(key string, limits groups.KindLimits) {
	for kind, size := range limits {
		if !slices.Contains(mediaKinds, kind) {
			c.bad(key+"."+kind, fmt.Sprintf("%q is no kind of file", kind), "the kinds are "+strings.Join(mediaKinds, ", "))
		}
		c.positive(key+"."+kind, size)
	}
}

// groups checks each group by itself and against those before it.
func (c *checker) groups() {
	folders, chats := make(map[string]int), make(map[groups.Address]int)
	main := -1
	for i := range c.cfg.Groups {
		g, key := &c.cfg.Groups[i], fmt.Sprintf("groups[%d]", i)
		g.Name = cmp.Or(g.Name, g.Folder)
		c.label(key+".name", g.Name)
		c.label(key+".trigger", g.Trigger)
		c.folder(key+".folder", g.Folder)
		// Some file systems take two folders that differ in case for one.
		if first, taken := folders[strings.ToLower(g.Folder)]; taken && g.Folder != "" {
			c.taken(key, "folder", g.Folder, first, "give each group a folder of its own")
		} else {
			folders[strings.ToLower(g.Folder)] = i
		}
		if g.Chat == "" {
			c.bad(key+".chat", "the group has no chat", "add chat:, such as web:family")
		} else if _, err := groups.ParseJID(string(g.Chat)); err != nil {
			c.bad(key+".chat", fmt.Sprintf("%q is no chat that any channel knows", media.Cut(string(g.Chat), groups.MaxJID)),
				"write it as its channel does: web:family (lower-case letters, digits, - and _), 120363000000000000@g.us, slack:C024BE91L, tg:-1001234567890, dc:1234567890")
		} else {
			c.carrier(key, g)
			if first, taken := chats[g.Address()]; taken {
				c.taken(key, "chat", string(g.Chat), first, "give each group a chat of its own")
			} else {
				chats[g.Address()] = i
			}
		}
		if g.Main && main >= 0 {
			c.taken(key, "main", "the main group", main, "set main: true on one group only")
		} else if g.Main {
			main = i
		}
		if _, known := c.cfg.Assistants[g.Assistant]; g.Assistant != "" && !known {
			c.bad(key+".assistant", fmt.Sprintf("there is no assistant %q", g.Assistant), "add it below assistants:, or leave the key out")
		}
		c.kinds(key+".limits", g.Limits)
		c.rate(key, g)
	}
}

func (c *checker) rate(key string, g *groups.Group) {
	for kind, size := range c.cfg.Limits.Files {
		if own, set := g.Limits[kind]; !set || own > size {
			if g.Limits == nil {
				g.Limits = groups.KindLimits{}
			}
			g.Limits[kind] = size
		}
	}
	g.Rate.PerMinute = cmp.Or(g.Rate.PerMinute, c.cfg.Limits.Rate.PerMinute)
	g.Rate.Burst = cmp.Or(g.Rate.Burst, c.cfg.Limits.Rate.Burst)
	c.positive(key+".rate.per_minute", int64(g.Rate.PerMinute))
	c.positive(key+".rate.burst", int64(g.Rate.Burst))
}

func (c *checker) folder(key, folder string) {
	if folder == "" {
		c.bad(key, "the group has no folder", "add folder:, the name of its directory below groups/")
	} else if err := groups.CheckFolder(folder); err != nil {
		c.bad(key, err.Error(), "choose another name, such as family")
	}
}

// taken notes that the group at key has what an earlier one has.
func (c *checker) taken(key, field, value string, first int, hint string) {
	other := fmt.Sprintf("groups[%d].%s", first, field)
	c.bad(key+"."+field, fmt.Sprintf("%s is taken by group %q on line %d", value, c.cfg.Groups[first].Name, c.line(other)), hint)
}

func (c *checker) oneOf(key, value string, known ...string) {
	if !slices.Contains(known, value) {
		c.bad(key, fmt.Sprintf("%q is unknown here", value), "use "+strings.Join(known, ", "))
	}
}

// positive refuses what would stop everything.
func (c *checker) positive(key string, value int64) {
	if value < 1 {
		c.bad(key, "the value must be above 0", "leave the key out for its default")
	}
}

// label checks a text that people will see.
func (c *checker) label(key, text string) {
	switch {
	case len(text) > 100:
		c.bad(key, "the text is longer than 100 bytes", "shorten it")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.bad(key, "the text holds a character that cannot be printed", "leave it out")
	}
}
