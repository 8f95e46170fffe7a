// Package config reads longshore.yaml. It checks the whole file before the host
// opens anything. Each mistake is a [Problem] with its line and a remedy; a setting
// that works but is unsafe is a warning.
//
// The package reads files and looks at directories; it makes and changes none.
package config

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/setting"
)

// Config is longshore.yaml, complete: defaults filled in, paths absolute and
// free of symlinks where they exist, secrets read. Every field is one
// key, and its tags say all of the key's form: see form.go.
type Config struct {
	File string `yaml:"-"` // the file it came from, absolute
	// Warnings are settings that work but are unsafe or uncertain, in the order of the file.
	Warnings []*Problem `yaml:"-"`
	// Down are what this machine lacks or has wrong, in the order of the file: the value of a ${NAME}, the
	// file of a secret or of a key, a mounted directory; and mounts that the operator's rules forbid.
	// Each keeps its Part down, and nothing else. Groups lack such mounts.
	Down []*Problem `yaml:"-"`

	// Sum is that of the text.
	Sum [sha256.Size]byte `yaml:"-" json:"-"`

	// LeftOut are the registered groups that the file does not let be served, by their folders,
	// with the reason; each is a warning too.
	LeftOut map[string]*Problem `yaml:"-" json:"-"`

	// SecretFiles are the files that secrets were read from, each once.
	SecretFiles []string `yaml:"-" json:"-"`
	// Secrets are their paths as the file has them, but absolute, by key: a link may lead to another file later.
	Secrets map[string]string `yaml:"-" json:"-"`

	// Platforms are all that the configuration could name.
	Platforms []channel.Platform `yaml:"-" json:"-"`

	source *source `yaml:"-"` // the text that it was read from

	Name    string `yaml:"name" form:"label" help:"The assistants' name, as members see it."`
	State   State  `yaml:"state" restart:"true" help:"The state directory. Or a block, if not all of the state is to lie there."`
	Style   string `yaml:"layout" restart:"true" enum:"longshore,v1" help:"How the state directory is laid out: v1 for that of NanoClaw v1."`
	Project string `yaml:"project" restart:"true" local:"true" help:"What the main group sees, read-only, at /workspace/project."`

	MediaTools string `yaml:"media_tools" restart:"true" local:"true" enum:"confined,unconfined,off" help:"How ffmpeg, ffprobe, pdfinfo and pdftoppm read files, for thumbnails and durations. confined: without rights, or not at all. unconfined: with the host's own rights."`

	Direct string `yaml:"direct" enum:"off,pairing" help:"What becomes of people who write to an account in a direct chat that no group has. off: nothing. pairing: they get a code that the operator can approve."`

	Transcription []Transcription `yaml:"transcription" help:"Ways to turn members' voice notes into text, tried in order. Without any, assistants get the sound alone."`

	Timezone string `yaml:"timezone" form:"zone" help:"The time zone of prompts and schedules, such as Europe/Berlin."`

	Log          Log          `yaml:"log" restart:"true" local:"true" help:"How the host logs."`
	Metrics      Metrics      `yaml:"metrics" restart:"true" local:"true" help:"Where the host answers /healthz, /readyz and /metrics, beside its control socket."`
	OperatorPage OperatorPage `yaml:"operator_page" restart:"true" local:"true" help:"The page on which the operator sees the host and acts on it."`

	Channels   Channels             `yaml:"channels" help:"Chat platforms to connect to. Without this key, web."`
	Engines    map[string]Engine    `yaml:"engines" restart:"true" keys:"engine" help:"The container engines, by name. Without this key, that of this machine."`
	Assistants map[string]Assistant `yaml:"assistants" keys:"assistant" help:"Ways to run an agent, by name."`
	Groups     []groups.Group       `yaml:"groups" help:"One entry for each chat that has an assistant."`

	Destinations map[string]groups.Destination `yaml:"destinations" keys:"destination" help:"Chats without an assistant to which groups may send, by name: see may_send_to."`

	Prices map[string]Price `yaml:"prices" keys:"model" help:"What models cost, by name, for keys: proxy. A name that ends in * stands for all that begin so."`

	Register Register    `yaml:"register" help:"Chats that the main group may make groups of, with register_group."`
	Mounts   MountPolicy `yaml:"mounts" help:"What the groups may mount."`
	Screen   Screen      `yaml:"screen" help:"Which files may not leave."`
	Approval Approval    `yaml:"approval" help:"Which members are asked about what waits for an approval."`
	Audit    Audit       `yaml:"audit" help:"The trail of what left the host and what was refused."`
	Cluster  Cluster     `yaml:"cluster" restart:"true" help:"The hosts that share this state on PostgreSQL: one owns, the others stand by."`
	Backup   Backup      `yaml:"backup" local:"true" help:"The daily backup of the state."`
	Remote   Remote      `yaml:"remote" restart:"true" help:"Where assistants are let in that share no directory with the host."`
	Notify   Notify      `yaml:"notify" help:"Where the host tells of its lasting faults."`
	Limits   Limits      `yaml:"limits" help:"What one group can take from the host and from the others."`
}

// Log is how the host logs.
type Log struct {
	Level  string `yaml:"level" enum:"debug,info,warn,error" help:"The least severe level that is logged."`
	Format string `yaml:"format" enum:"auto,text,json" help:"auto is text on a terminal and JSON otherwise."`
}

// Backup is where the host copies its state once a day.
type Backup struct {
	Directory string `yaml:"directory" help:"The directory of the daily backups. Without it, backups/ in the state directory."`
	Keep      int    `yaml:"keep" min:"0" max:"1000" help:"How many stay. 0: none is made."`
}

// Metrics is where the host answers /healthz, /readyz and /metrics beside its control
// socket.
type Metrics struct {
	Listen string   `yaml:"listen" help:"host:port on loopback. Nowhere without it."`
	Hosts  []string `yaml:"hosts" form:"host" help:"Names that it answers to beside those of loopback, as a proxy or a container calls it."`
}

// OperatorPage is where the host serves the operator's page. Without Listen it serves
// none.
type OperatorPage struct {
	Listen string   `yaml:"listen" help:"host:port on loopback. Nowhere without it."`
	Hosts  []string `yaml:"hosts" form:"host" help:"Names that it answers to beside those of loopback, as a proxy calls it."`
}

// The kinds of value that the file is written in.
type (
	Size     = setting.Size
	Duration = setting.Duration
	Secret   = setting.Secret
)

// Assistant is a way to run an agent.
type Assistant struct {
	Runtime  string         `yaml:"runtime" enum:"process,docker,ssh,remote" help:"Where it runs. ssh: on another machine, where the host starts it. remote: elsewhere; the host starts nothing, and it fetches its messages by HTTP."`
	SSH      SSH            `yaml:"ssh" help:"The machine of runtime: ssh."`
	Agent    string         `yaml:"agent" enum:"sample,command,claude,codex,gemini,opencode" help:"What runs."`
	Command  []string       `yaml:"command" private:"true" help:"Program and arguments of agent: command. No shell."`
	Image    string         `yaml:"image" help:"Container image of runtime: docker."`
	Share    string         `yaml:"share" enum:"directories,none" help:"What a container of runtime: docker shares with the host: the group's directories, or none. Then its workspace is a volume of the engine's."`
	Engine   groups.Engines `yaml:"engine" help:"With runtime: docker, the engine on which its containers run, or a list of them: each group then goes where the fewest run, and stays there. Without it, all engines."`
	WhenAway string         `yaml:"when_away" enum:"wait,move" help:"What becomes of a group whose engine does not answer, if there are others. wait: its messages wait for that engine. move: after a minute it begins anew on another one; volumes stay where they are."`
	Network  string         `yaml:"network" form:"network" help:"Network of runtime: docker: none, bridge, or the name of one that the operator made."`

	// Values of the environment may be secrets, so all are kept as such. Those
	// from files are in Env, too.
	Env         map[string]Secret `yaml:"env" keys:"variable" help:"Further environment. ${NAME} as a whole value is looked up where the host was started."`
	EnvFromFile map[string]string `yaml:"env_from_file" keys:"variable" help:"Variables whose values are read from files."`

	// Where the model's keys are: in the container, or with the host alone.
	Keys          string        `yaml:"keys" enum:"proxy,inside" help:"proxy: the host keeps the model's key and passes the assistant's calls on. inside: the assistant gets the key."`
	ProviderTools ProviderTools `yaml:"provider_tools" help:"With keys: proxy: true allows tools that the model's service runs, such as a search of the web, and all keys of calls. Or a block that allows some."`

	OwnKey bool `yaml:"own_key" help:"With keys: proxy: no other group has the key, so that what the service stores may be used by id."`

	Providers map[string]Provider `yaml:"providers" keys:"provider" help:"With keys: proxy, further services of models."`

	ClaudeChannel string `yaml:"claude_channel" enum:"messages,permissions" help:"With runtime: remote, experimental: lets agentrunner channel push members' messages into a Claude Code session. permissions: the session may also ask the members of approval whether it may use a tool."`

	IdleTimeout Duration `yaml:"idle_timeout" above:"0" help:"Ends the assistant after this time without a message."`
	TurnTimeout Duration `yaml:"turn_timeout" above:"0" help:"Ends the assistant after this time without an answer."`
	Memory      Size     `yaml:"memory" min:"16MiB" help:"Memory of runtime: docker."`
	CPUs        float64  `yaml:"cpus" above:"0" max:"4096" help:"Processors of runtime: docker."`
	Pids        int      `yaml:"pids" above:"0" help:"Processes of runtime: docker."`
}

// Register is what the operator lets the main group register.
type Register struct {
	Chats     []string `yaml:"chats" help:"Those chats, each as groups: has it. A * at the end stands for any ending: web:*."`
	Assistant string   `yaml:"assistant" help:"The assistant that they get. Without it, the main group's."`
	Except    []string `yaml:"except" help:"Chats that are not, although chats has them: no group is made of them, and one that was made is not served."`
	Most      int      `yaml:"most" above:"0" max:"10000" help:"No group is registered if there are this many."`

	Restrictions string `yaml:"restrictions" enum:"inherited,none" help:"inherited: a registered group has approve, may_send, actions, rate and limits of the main group, and both spend one budget. none: it has what limits says for every group."`
}

// NoRestrictions is the value of Restrictions with which a registered group inherits none.
const NoRestrictions = "none"

// Allows says whether a chat is among them.
func (r Register) Allows(chat groups.JID) bool {
	has := func(named string) bool {
		start, any := strings.CutSuffix(named, "*")
		return named == string(chat) || any && strings.HasPrefix(string(chat), start)
	}
	return slices.ContainsFunc(r.Chats, has) && !slices.ContainsFunc(r.Except, has)
}

// MountPolicy is what the operator lets groups mount.
type MountPolicy struct {
	Allow []Allowed `yaml:"allow" help:"Directories at or below which a mount may lie."`
	Block []string  `yaml:"block" form:"pattern" help:"Further names, with * and ?, that no part of a mount's path may have."`
}

// Allowed is a directory that groups may mount, or parts of it.
type Allowed struct {
	Path  string `yaml:"path" required:"true" help:"The directory."`
	Write bool   `yaml:"write" help:"Whether groups may write there."`
}

// Limits bound what one group can take from the host and from the others.
type Limits struct {
	Files       groups.KindLimits `yaml:"files" help:"Bytes per kind of file for every group, beside the channel's own."`
	Pending     int               `yaml:"pending" above:"0" help:"Accepted deliveries of a group that are not settled."`
	Outbox      Size              `yaml:"outbox" above:"0" help:"Their bytes."`
	Wait        Duration          `yaml:"wait" help:"How long a tool waits for its result."`
	Rate        groups.Rate       `yaml:"rate" help:"Sends of one group."`
	Sends       int               `yaml:"sends" above:"0" help:"Sends in flight at once, over all groups."`
	Threads     int               `yaml:"threads" above:"0" help:"Threads of a group's chat that its assistant remembers."`
	NoticeAfter Duration          `yaml:"notice_after" above:"0" help:"How long a model may not answer before the chat is told."`
	Hold        Duration          `yaml:"hold" above:"0" help:"How long messages wait for an operator, if the assistant cannot answer before."`
	Assistants  int               `yaml:"assistants" above:"0" help:"Assistants running at once: on each of the engines, and on this machine."`
	Retry       Retry             `yaml:"retry" help:"How a send that failed for the moment is repeated."`
	FreeDisk    Size              `yaml:"free_disk" help:"Below this much free disk nothing more is accepted."`
	Inbox       Size              `yaml:"inbox" help:"What a group's inbox may hold. Above it no further file of a member is kept. 0 is no bound."`
	KeepResults Duration          `yaml:"keep_results" help:"How long final results stay, and the bytes of deliveries that failed."`
	Budget      groups.Budget     `yaml:"budget" help:"What the model's calls of one group may use, if its assistant has keys: proxy and the group has no budget of its own."`
	KeepErrors  Duration          `yaml:"keep_errors" help:"How long the errors folder keeps a request. 0s is for ever."`
}

// Retry is how a send that failed for the moment is repeated.
type Retry struct {
	MaxAge Duration `yaml:"max_age" above:"0" help:"After acceptance; then it has failed."`
	First  Duration `yaml:"first" above:"0" help:"The pause after the first attempt; it grows from there."`
	Max    Duration `yaml:"max" help:"The longest pause."`
}

// defaults is a configuration in which every key is absent.
func defaults() Config {
	return Config{
		Name:       "Andy",
		State:      State{Directory: "state"},
		Style:      "longshore",
		Project:    ".",
		MediaTools: "confined",
		Direct:     "off",
		Timezone:   "UTC",
		Register:   Register{Most: 50, Restrictions: "inherited"},
		Audit:      Audit{Keep: 400 * 24 * hour, LeaveOut: []string{"captions", "numbers"}},
		Backup:     Backup{Keep: 7},
		Cluster:    Cluster{Lease: Duration(10 * time.Second)},
		Notify:     Notify{After: Duration(2 * time.Minute), Ntfy: NotifyNtfy{Server: "https://ntfy.sh"}},
		Log:        Log{Level: "info", Format: "auto"},
		Remote: Remote{Limits: RemoteLimits{
			Fields: 64 << 10, Buffer: 20 << 20, Uploads: 4, UploadFor: 24 * hour, Header: 16 << 10, HeaderTime: Duration(10 * time.Second),
			Speed: 16 << 10, Grace: Duration(30 * time.Second), Group: 64, Strangers: 512,
		}},
		Limits: Limits{
			Pending:     64,
			Outbox:      256 << 20,
			Wait:        Duration(45 * time.Second),
			Rate:        groups.Rate{PerMinute: 20, Burst: 10},
			Sends:       4,
			Threads:     50,
			NoticeAfter: Duration(time.Minute),
			Hold:        24 * hour,
			Assistants:  5,
			Retry:       Retry{MaxAge: 24 * hour, First: Duration(time.Second), Max: Duration(5 * time.Minute)},
			FreeDisk:    1 << 30,
			Inbox:       10 << 30,
			KeepResults: 7 * 24 * hour,
			KeepErrors:  30 * 24 * hour,
		},
	}
}

const hour = Duration(time.Hour)

// SetDefaults fills in what an absent key means.
func (a *Assistant) SetDefaults() {
	*a = Assistant{
		Runtime: "process", Agent: "sample", Image: "longshore-agent:latest", Network: "bridge", Share: "directories", Keys: "inside", WhenAway: AwayWait,
		IdleTimeout: hour / 2, TurnTimeout: hour / 2, Memory: 2 << 30, CPUs: 2, Pids: 512,
	}
}

// Layout is where the configuration puts everything.
func (c *Config) Layout() groups.Layout {
	return groups.Layout{State: c.State.Directory, Project: c.Project, V1: c.Style == "v1"}
}

// InContainers are the groups whose assistants run in containers.
func (c *Config) InContainers() (boxed []groups.Group) {
	for _, g := range c.Groups {
		if g.Assistant != "" && c.Assistants[g.Assistant].Runtime == "docker" {
			boxed = append(boxed, g)
		}
	}
	return boxed
}
