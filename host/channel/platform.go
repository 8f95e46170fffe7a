package channel

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// Platform is all that the host needs to know of a chat platform. A table of them
// goes to the commands. Only the form of a chat's id (package groups), the demo and
// the import from NanoClaw know a platform by name besides.
type Platform struct {
	Key  string                // what longshore.yaml calls it: "web"
	Help string                // what the platform is, in one sentence for people
	Form func(groups.JID) bool // whether a chat is one of the platform's, by its form alone

	// Settings are those that stand below the channel's key in longshore.yaml,
	// with their defaults: a pointer to a struct. The tags of its fields state the
	// whole form of each key: yaml, help, and those that config/form.go lists.
	Settings func() Settings

	// Limits is what the platform takes with these settings.
	Limits func(Settings) media.Limits

	// New makes the channel, and opens nothing: see Channel.Run and Opener.
	New func(Setup) (Channel, error)

	// Dir is where the channel that is called as the platform keeps its files.
	// Nil: where all others do, in a directory of its own.
	Dir func(groups.Layout) string

	// Stores are the databases in Setup.Dir, whether they are there or not.
	Stores func(Setup) []store.Spec

	// Examine are the doctor's checks of a configured channel, beside those of
	// its stores and its connection. It only reads. Nil: there are none.
	Examine func(ctx context.Context, s Setup, running bool) []Finding

	// Account is how an account is linked. Nil: there is none to link.
	Account *Account
}

// Settings are a channel's own part of longshore.yaml.
type Settings interface {
	// Check says what is wrong with the values beyond their form, and fills in
	// what depends on more than one key.
	Check(Checker)
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

	Chats     []NamedChat // of the groups
	Assistant string      // what members call the assistants
	FreeDisk  int64       // bytes of disk that files leave free
	Tools     string      // how programs of the machine read files: confined, unconfined, off
	Log       *slog.Logger

	Tasks TaskBook // may be nil

	// Links serves the files behind links, at /links/ beside what the channel serves
	// itself. It checks each request for itself. It may be nil.
	Links http.Handler

	// Clock, if not nil, is told the platform's time with each answer of its API.
	Clock func(time.Time)

	// Knock, if not nil, is told of each new message that a person wrote in a chat that
	// is not among Chats, which the channel does not keep. It returns at once.
	Knock func(Knock)

	// Reserve is asked before so many bytes of temporary files are written;
	// release gives them back. It may be nil.
	Reserve func(bytes int64) (release func(), err error)
	Room    func() error // why nothing more should be kept now; it may be nil
}

// Knock is a message in a chat that no group of longshore.yaml has.
type Knock struct {
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

// Account is how the commands link an account of a platform. "unpair" unlinks
// it if the channel is an Unpairer.
type Account struct {
	Pair   string // what "longshore pair" does, in a few words, and what it is all about
	About  string
	Unpair string // what "longshore unpair" does, in a few words; empty: there is nothing to unlink
	Scan   string // where on the phone a code is scanned: "scan the code on the phone, under Settings, Linked devices"; empty: no code
	Type   string // where on the phone a code is typed in; empty: that is not possible

	// Guide says how an account is made whose tokens longshore.yaml names, also
	// before it names the channel; nil: the account is there already.
	Guide func(channel string, say func(format string, args ...any))

	// Link links an account to a channel that New has made, and says which. It
	// is a *LinkedError where there is one already.
	Link func(context.Context, Channel, Pairing) (account string, err error)
}

// Pairing is how the person who links an account is spoken to.
type Pairing struct {
	Phone    string                                 // the account's number; where it is given, a code is typed in
	ShowQR   func(code string, valid time.Duration) // one after another; returns at once
	ShowCode func(code string)                      // to be typed in; returns at once

	To  groups.JID                       // where a test message goes; empty: nowhere
	Say func(format string, args ...any) // a line of its own
}

// LinkedError says that a channel has an account already.
type LinkedError struct{ Account string }

func (e *LinkedError) Error() string { return "an account is linked already: " + e.Account }
