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
	"github.com/longshore-bridge/longshore/media"
)

// Platform is all that the host needs to know of a chat platform. A table of them
// goes to the commands. Only the form of a chat's id (package groups), the demo and
// the import from NanoClaw know a platform by name besides.
type Platform interface {
	Key() string  // what longshore.yaml calls the platform: "web"
	Help() string // what the platform is, in one sentence for people

	// Owns reports whether a chat is one of the platform's, by its form alone.
	Owns(chat groups.JID) bool

	// Settings returns the defaults of the keys that stand below the channel's key in
	// longshore.yaml: a new pointer to a struct. The tags of its fields state the
	// whole form of each key: yaml, help, and those that config/form.go lists.
	Settings() Settings

	// New makes the channel, and opens nothing: see Channel.Run and Opener.
	New(Setup) (Channel, error)

	// Examine returns the doctor's findings about a configured channel, beside those
	// about its stores and its connection. It only reads.
	Examine(ctx context.Context, s Setup, running bool) []Finding
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

// Settings are a channel's own part of longshore.yaml.
type Settings interface {
	// Check reports what is wrong with the values beyond their form, and fills in
	// what depends on more than one key.
	Check(Checker)

	// Limits is what the platform takes with these settings.
	Limits() media.Limits
}

// ListenSettings is implemented by Settings of a channel that listens at an address.
type ListenSettings interface {
	// ListensAt is host:port; empty: nowhere.
	ListensAt() string
}

// Checker tells settings of the file they stand in, and takes what is wrong
// with them. Keys are those of the settings: "listen". What is noted gets the
// line, and of several problems with one key the first counts.
type Checker interface {
	Has(key string) bool // the file holds the key, even with nothing behind it
	Bad(key, message, hint string)

	Secret(key string, value *setting.Secret, file string) // looks up ${NAME}, or reads the file of the key with _file behind
}

// Setup is what the host gives a channel of its platform: an entry of
// longshore.yaml, and the means to work with it.
type Setup struct {
	Name     string // of the channel in longshore.yaml
	Settings Settings
	Dir      string     // the channel's own directory
	Home     store.Home // of the installation that the channel belongs to
	State    *state.DB  // of the host that runs the channel; nil: no host runs it

	Chats     []NamedChat // of the groups
	Assistant string      // what members call the assistants
	FreeDisk  int64       // bytes of disk that files leave free
	Tools     string      // how programs of the machine read files: confined, unconfined, off
	Log       *slog.Logger

	Tasks TaskBook // may be nil

	// Links serves the files behind links, at /links/ beside what the channel serves
	// itself. It checks each request for itself. It may be nil.
	Links http.Handler

	Host Host // nil: a NoHost
}

// Host is what a channel asks and reports beside what goes to its Inbox. All methods
// return at once and may be called from several goroutines.
type Host interface {
	// ReportTime takes the platform's time, which comes with each answer of its API.
	ReportTime(platform time.Time)

	// ReportUnknown takes each new message that a person wrote in a chat that is not
	// among Setup.Chats. The channel does not keep that message.
	ReportUnknown(UnknownChat)

	// Reserve is called before temporary files grow by so many bytes; release gives
	// them back. The error says why the disk has no room for them.
	Reserve(bytes int64) (release func(), err error)

	// Room returns why no further message of a member may be kept now, or nil.
	Room() error
}

// NoHost is the Host of a channel that stands alone: it listens to nothing, and its
// disk is never full.
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

// Applier is implemented by a channel whose chats and settings may change while it
// runs, but for the settings whose fields have the tag restart:"true". A change to
// another channel wants a restart of the host.
type Applier interface {
	// Apply takes what is in force from now on: the chats of the groups, the
	// settings that may change, and all else of the Setup that a configuration
	// changes. Connections and what is being sent go on. Accepted messages to
	// a chat that is gone are still sent.
	Apply(Setup)
}

// NamedChat is a chat, what people call it, and what members should know of it.
type NamedChat struct {
	JID     groups.JID
	Name    string
	Trigger string // the word that calls the assistant, for members to see; empty: no word is needed, or the group gives no hints
	Heard   bool   // the assistant may read everything that members write, also what does not call it
}

// Linker is a Platform whose channels "longshore pair" links to an account. "longshore
// unpair" unlinks a channel that is an Unpairer.
type Linker interface {
	Platform
	Account() Account

	// Guide returns, in lines for people, how an account is made whose tokens
	// longshore.yaml names; empty: the account exists already. The channel need not be
	// configured yet.
	Guide(channel string) string

	// Link links an account to a channel that New has made, and returns its name. The
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

// Screen is where the person who links an account reads. Its methods return at once.
type Screen interface {
	ShowQR(code string, valid time.Duration) // to be scanned; the next one replaces it
	ShowCode(code string)                    // to be typed in
	Say(format string, args ...any)          // a line of its own
}

// SayLines says a text of several lines.
func SayLines(s Screen, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		s.Say("%s", line)
	}
}

// LinkedError says that a channel has an account already.
type LinkedError struct{ Account string }

func (e *LinkedError) Error() string { return "an account is linked already: " + e.Account }
