package channel

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

// Platform is all that the host knows of a chat platform. The commands get a table of them. Only
// the form of a chat's id (package groups), the demo and the import from NanoClaw name a
// platform besides.
type Platform interface {
	Key() string  // what longshore.yaml calls the platform: "web"
	Help() string // what the platform is, in one sentence for people

	// Owns reports whether a chat is one of the platform's, by its form alone.
	Owns(chat groups.JID) bool

	// Settings returns a pointer to a new struct with the defaults of the channel's keys in
	// longshore.yaml. The tags of its fields state the whole form of each key: yaml, help, and
	// those that config/form.go lists.
	Settings() Settings

	// New makes the channel, and opens nothing; Channel.Run and Opener do.
	New(Setup) (Channel, error)

	// Examine returns the doctor's findings about a configured channel, beside those
	// about its stores and its connection. It only reads. running: it is called in a host
	// that runs the channel.
	Examine(ctx context.Context, s Setup, running bool) []finding.Finding
}

// OwnDirectory is implemented by a Platform whose channel of the same name keeps its
// files in a directory of the layout. All other channels have layout.Named.
type OwnDirectory interface {
	Dir(groups.Layout) string
}

// OwnStores is implemented by a Platform whose channels have databases beside the host's state.
type OwnStores interface {
	// Stores returns those in Setup.Dir, whether they are there or not.
	Stores(Setup) []store.Spec
}

// Former is implemented by a Platform whose channels have tables of their own in the host's state.
type Former interface {
	// ForgetFormer deletes old rows of the channels that are not among the configured ones. It
	// works in steps, so that others can write.
	ForgetFormer(ctx context.Context, db *state.DB, configured []string, log *slog.Logger) error
}

// Settings are a channel's own part of longshore.yaml.
type Settings interface {
	// Check reports what is wrong with the values beyond their form, and fills in what depends
	// on more than one key.
	Check(Checker)

	// Limits returns what the platform takes with these settings.
	Limits() media.Limits
}

// ListenSettings is implemented by Settings of a channel that listens at an address.
type ListenSettings interface {
	// ListensAt returns host:port; empty: nowhere.
	ListensAt() string
}

// Checker gives Settings.Check its file, and takes the mistakes. Keys are those of the settings:
// "listen". Of several mistakes in one key the first counts.
type Checker interface {
	Has(key string) bool           // the file holds the key, even without a value
	Bad(key, message, hint string) // reports a mistake; the checker adds the line

	// Secret sets value from the environment if it is ${NAME}, or from file, the value of the
	// key with _file at its end.
	Secret(key string, value *setting.Secret, file string)
}

// Setup is what the host gives a channel: its entry in longshore.yaml, and what it works with.
type Setup struct {
	Name     string // of the channel in longshore.yaml
	Settings Settings
	Dir      string       // the channel's own directory
	Home     store.Home   // of the installation that the channel belongs to
	Server   store.Server // of the state, for the channel's own stores
	State    *state.DB    // of the host that runs the channel; nil: no host runs it

	Chats     []NamedChat // of the groups
	Assistant string      // what members call the assistants
	FreeDisk  int64       // bytes of disk that files leave free
	Tools     string      // how programs of the machine read files: confined, unconfined, off
	Log       *slog.Logger

	Tasks TaskBook // may be nil

	// Links serves the files behind links, at /links/ of the channel's server. It checks each
	// request itself. It may be nil.
	Links http.Handler

	Host Host // nil: a NoHost
}

// Host takes a channel's questions and reports beside its Inbox. All methods return at once and
// may be called from several goroutines.
type Host interface {
	// ReportTime takes the platform's time, which comes with each answer of its API.
	ReportTime(platform time.Time)

	// ReportUnknown takes each new message of a person in a chat that is not among Setup.Chats.
	// The channel does not keep the message.
	ReportUnknown(UnknownChat)

	// Reserve is called before temporary files grow by so many bytes; release ends the
	// reservation. The error says why the disk has no room.
	Reserve(bytes int64) (release func(), err error)

	// Room returns why no further message of a member may be kept now, or nil.
	Room() error
}

// NoHost is the Host of a channel that stands alone: it ignores reports, and its disk is never
// full.
type NoHost struct{}

func (NoHost) ReportTime(time.Time)          {}
func (NoHost) ReportUnknown(UnknownChat)     {}
func (NoHost) Reserve(int64) (func(), error) { return func() {}, nil }
func (NoHost) Room() error                   { return nil }

// UnknownChat is a message in a chat that no group of longshore.yaml has.
type UnknownChat struct {
	Chat   groups.JID // as a group would name it
	Shared bool       // a group chat, and not a direct one
	From   string     // as Inbound.From; empty of a group chat
	Time   time.Time  // of the message

	// Text, if not empty, is what was written in a group chat of an account that may be a
	// person's own. The message counts if it has a trigger; the host does not keep it.
	Text string
}

// Applier is implemented by a channel whose chats and settings may change while it runs, except
// settings whose fields have the tag restart:"true". A change to any other channel needs a
// restart of the host.
type Applier interface {
	// Apply takes a new configuration's chats, settings and the rest of the Setup. Connections
	// and sends go on. Accepted messages to a chat that was removed are still sent.
	Apply(Setup)
}

// NamedChat is a chat of a group, with what members may see of it.
type NamedChat struct {
	JID     groups.JID
	Name    string
	Trigger string // the word that calls the assistant, for members to see; empty: no word is needed, or the group gives no hints
	Heard   bool   // the assistant may read everything that members write, even without the trigger
}

// Linker is a Platform whose channels "longshore pair" links to an account. "longshore
// unpair" unlinks a channel that is an Unpairer.
type Linker interface {
	Platform
	Account() Account

	// Guide returns, in lines for people, how to make an account whose tokens longshore.yaml
	// names; empty: the account exists already. The channel need not be configured yet.
	Guide(channel string) string

	// Link links an account to a channel that New has made, and returns the account's name. The
	// error is a *LinkedError if the channel has an account already.
	Link(context.Context, Channel, Pairing) (account string, err error)
}

// Account is what the commands say about linking an account of a platform.
type Account struct {
	Pair   string // what "longshore pair" does, in a few words
	About  string // the same at length
	Unpair string // what "longshore unpair" does, in a few words; empty: there is nothing to unlink
	Scan   string // where on the phone a code is scanned: "scan the code on the phone, under Settings, Linked devices"; empty: no code
	Type   string // where on the phone a code is typed in; empty: that is not possible
}

// Pairing is one run of "longshore pair".
type Pairing struct {
	Screen
	Phone   string     // the account's number; if it is given, a code is typed in
	To      groups.JID // where a test message goes; empty: nowhere
	Running bool       // a host runs meanwhile, and may hear the account
}

// Screen shows the person who links an account what to do. Its methods return at once.
type Screen interface {
	ShowQR(code string, valid time.Duration) // a code to scan; the next one replaces it
	ShowCode(code string)                    // a code to type
	Say(format string, args ...any)          // a line of its own
}

// SayLines shows a text of several lines.
func SayLines(s Screen, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		s.Say("%s", line)
	}
}

// LinkedError is the error of Link if the channel has an account already.
type LinkedError struct{ Account string }

func (e *LinkedError) Error() string { return "an account is linked already: " + e.Account }
