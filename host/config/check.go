package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/distribution/reference"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/media"
)

func (c *checker) check() {
	c.secretFiles, c.written, c.secrets = make(map[string]string), make(map[string]string), make(map[string]bool)
	c.directories()
	c.database()
	c.files()
	c.cluster()
	c.loopback("metrics.listen", c.cfg.Metrics.Listen, "127.0.0.1:9420")
	c.loopback("operator_page.listen", c.cfg.OperatorPage.Listen, "127.0.0.1:8400")
	c.transcription()
	c.screen()
	c.timezone("timezone", c.cfg.Timezone)
	c.channels()
	c.assistants()
	c.parallel()
	c.shares()
	c.engines()
	c.limits()
	c.groups()
	c.budgets()
	c.ownKeys()
	c.notify()
	c.remote()
	c.listeners()
	c.register()
	c.mounts()
	c.secretsHidden()
	c.throughWriters()
	c.advice()
}

// loopback refuses an address that other machines reach. The metrics need no token,
// and the operator's page is powerful.
func (c *checker) loopback(key, listen, example string) {
	if !c.has(key) {
		return
	}
	if host, port, err := net.SplitHostPort(listen); err != nil || port == "" || !httpd.Loopback(host) {
		c.bad(key, fmt.Sprintf("%q is no loopback address", listen), "write host:port, such as "+example+"; a proxy may pass it on")
	}
}

// image checks the form of an image's name, or of its digest, as engines do.
func (c *checker) image(key, image string) {
	if _, err := reference.ParseAnyReference(image); err != nil {
		c.bad(key, fmt.Sprintf("%q is no name of an image", image),
			"write [registry/]name[:tag] in lower-case letters, digits and . _ -, such as longshore-agent:latest; the tag may have capitals")
	}
}

// parallel refuses more than one assistant at a time if they would share their
// directories.
func (c *checker) parallel() {
	for i, g := range c.cfg.Groups {
		if a, ok := c.cfg.Assistants[g.Assistant]; ok && g.Parallel > 1 && a.Runtime != "docker" {
			c.bad(fmt.Sprintf("groups[%d].parallel", i), "assistants without a container share one directory, and cannot run at the same time",
				"use an assistant with runtime: docker, or leave parallel: out")
		}
	}
}

func (c *checker) assistants() {
	for name, a := range c.cfg.Assistants {
		key := "assistants." + name
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
		if a.Runtime == Elsewhere {
			c.elsewhere(name)
		} else if c.has(key + ".claude_channel") {
			c.bad(key+".claude_channel", "only a session that lives elsewhere gets messages pushed", "set runtime: remote, or leave claude_channel: out")
		}
		c.overSSH(key, &a)
		c.share(key, a)
		a.Env = c.environment(key, a)
		if a.Runtime == OverSSH && !c.has(key+".keys") && a.HasModelKey() {
			a.Keys = "proxy"
		}
		if a.Keys == "proxy" {
			c.keys(key, a)
		} else if len(a.Providers) > 0 {
			c.bad(key+".providers", "only the host uses them", "set keys: proxy, or leave providers: out")
		}
		c.cfg.Assistants[name] = a
	}
}

// environment is the assistant's variables with their values.
func (c *checker) environment(key string, a Assistant) map[string]Secret {
	env := make(map[string]Secret, len(a.Env)+len(a.EnvFromFile))
	for name, value := range a.Env {
		at := key + ".env." + name
		if text := value.Reveal(); !value.IsZero() && !envReference.MatchString(text) && (secretName.MatchString(name) || len(secretWord.FindString(text)) == len(text)) {
			c.warn(at, "this looks like a secret, which does not belong in the configuration file",
				"write ${NAME} and set that variable, or name a file with env_from_file")
		}
		env[name] = c.expand(at, value)
	}
	for name, path := range a.EnvFromFile {
		at := key + ".env_from_file." + name
		if _, twice := env[name]; twice {
			c.bad(at, name+" is set in env too", "leave one of the two out")
		}
		env[name] = c.readSecret(at, path)
	}
	return env
}

// secretName matches names of variables that hold secrets. A name with TOKENS, as in
// MAX_TOKENS, is a count.
var secretName = regexp.MustCompile(`(?i)(^|_)(API)?(KEY|TOKEN|SECRET|PASSWORD)(_|$)`)

func (c *checker) limits() {
	if retry := c.cfg.Limits.Retry; retry.Max < retry.First {
		c.bad("limits.retry.max", "the longest pause is shorter than the first", "raise it, or lower limits.retry.first")
	}
}

// groups checks each group by itself and against the groups before it.
func (c *checker) groups() {
	folders, chats := make(map[string]int), make(map[groups.Address]int)
	main := -1
	for i := range c.cfg.Groups {
		g, key := &c.cfg.Groups[i], fmt.Sprintf("groups[%d]", i)
		g.Name = cmp.Or(g.Name, g.Folder)
		if err := groups.CheckFolder(g.Folder); err != nil {
			c.bad(key+".folder", err.Error(), "choose another name, such as family")
		}
		// Some file systems take two folders that differ in case for one.
		if first, taken := folders[strings.ToLower(g.Folder)]; taken && g.Folder != "" {
			c.taken(key, "folder", g.Folder, first, "give each group a folder of its own")
		} else {
			folders[strings.ToLower(g.Folder)] = i
		}
		if c.chat(key, g.Chat) {
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
		c.assistant(key+".assistant", g.Assistant)
		c.members(key+".members", g.Members)
		c.actions(key+".actions", g.Actions)
		c.maySend(key+".may_send", g.MaySend)
		c.approve(key+".approve", g.Approve)
		c.timezone(key+".timezone", g.Timezone)
		if len(g.Ack) > 32 || strings.ContainsFunc(g.Ack, func(r rune) bool { return r < 0x80 || unicode.IsSpace(r) || unicode.IsLetter(r) }) {
			c.bad(key+".ack", "it is no emoji", "write one emoji, such as 👀, or leave the key out")
		}
	}
	c.registered()
	for i := range c.cfg.Groups {
		c.fill(&c.cfg.Groups[i])
	}
	c.destinations(chats)
	c.maySendTo()
	c.approval()
}

// chat reports whether a chat has the form of one of a channel's.
func (c *checker) chat(key string, chat groups.JID) bool {
	if _, err := groups.ParseJID(string(chat)); err == nil && !c.ofNoPlatform(chat) {
		return true
	}
	before, _, _ := strings.Cut(string(chat), ":")
	c.bad(key+".chat", fmt.Sprintf("%q is no chat that any channel knows", media.Cut(string(chat), groups.MaxJID)),
		near.Hint(before, append(c.platformKeys(), "slack", "tg", "dc"),
			"write it as its channel does: web:family (lower-case letters, digits, - and _), 120363000000000000@g.us, push:desk, slack:C024BE91L, tg:-1001234567890, dc:1234567890"))
	return false
}

// members rejects what is neither a word nor an id: a misspelt word would shut
// everybody out.
func (c *checker) members(key string, m groups.Members) {
	for right, who := range map[groups.Right]groups.Who{groups.MaySpeak: m.Speak, groups.MayStop: m.Stop, groups.MayNew: m.New} {
		words := groups.MemberWords(right)
		if who != nil && len(who) == 0 {
			c.bad(key+"."+string(right), "the list is empty", "write "+strings.Join(words, ", ")+", or ids of members")
		}
		for _, entry := range who {
			if !slices.Contains(words, entry) && !groups.MemberForm(entry) {
				c.bad(key+"."+string(right), fmt.Sprintf("%q is neither a word nor an id of a member", media.Cut(entry, 100)),
					near.Hint(entry, words, "write "+strings.Join(words, ", ")+", or a list of ids, such as [4915100000000, U012AB3CD]"))
			}
		}
	}
}

func (c *checker) actions(key string, all groups.Actions) {
	if all != nil && len(all) == 0 {
		c.bad(key, "the list is empty", "write all, none, or a list of words")
	}
	for _, a := range all {
		if words := groups.ActionWords(); !slices.Contains(words, a) {
			c.bad(key, fmt.Sprintf("%q is no action", media.Cut(a, 100)), near.Hint(a, words, "use "+strings.Join(words, ", ")))
		}
	}
}

// register checks what the main group may register.
func (c *checker) register() {
	c.registerable("register.chats", c.cfg.Register.Chats)
	c.registerable("register.except", c.cfg.Register.Except)
	c.assistant("register.assistant", c.cfg.Register.Assistant)
}

func (c *checker) registerable(list string, chats []string) {
	for i, chat := range chats {
		key := fmt.Sprintf("%s[%d]", list, i)
		start, any := strings.CutSuffix(chat, "*")
		if _, err := groups.ParseJID(chat); !any && err != nil || start == "" || len(chat) > groups.MaxJID {
			c.bad(key, fmt.Sprintf("%q is no chat that any channel knows", media.Cut(chat, groups.MaxJID)), "write it as groups: has it, or its beginning and a *: web:*")
		}
	}
}

// assistant rejects a name that no assistant has.
func (c *checker) assistant(key, name string) {
	if _, known := c.cfg.Assistants[name]; name != "" && !known {
		c.bad(key, fmt.Sprintf("there is no assistant %q", name),
			near.Hint(name, slices.Sorted(maps.Keys(c.cfg.Assistants)), "add it below assistants:, or leave the key out"))
	}
}

// registered gives groups that an assistant has registered the restrictions of its group.
func (c *checker) registered() {
	for i := range c.cfg.Groups {
		g := &c.cfg.Groups[i]
		if g.RegisteredBy == "" {
			continue
		}
		at := slices.IndexFunc(c.cfg.Groups, func(maker groups.Group) bool { return maker.Folder == g.RegisteredBy })
		if at < 0 || at == i || c.cfg.Groups[at].RegisteredBy != "" {
			c.bad(fmt.Sprintf("groups[%d].registered_by", i), fmt.Sprintf("%q is no other group's folder, or that of a registered group", g.RegisteredBy),
				"name the group whose restrictions hold here, or write them here and leave the key out")
			continue
		}
		g.Inherit(c.cfg.Groups[at])
	}
}

// fill applies limits: to a group that has no limit of its own or a wider one.
func (c *checker) fill(g *groups.Group) {
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
}

// taken reports that the group at key has a value that an earlier group has.
func (c *checker) taken(key, field, value string, first int, hint string) {
	other := fmt.Sprintf("groups[%d].%s", first, field)
	c.bad(key+"."+field, fmt.Sprintf("%s is taken by group %q on line %d", value, c.cfg.Groups[first].Name, c.line(other)), hint)
}
