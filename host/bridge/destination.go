package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// destination is a chat that the source may send to, with what its channel takes and what
// the source may send there.
type destination struct {
	chat    groups.JID
	channel channel.Channel // that carries it
	limits  media.Limits
	from    groups.Asker       // who asks
	source  groups.Group       // whose policy and limits apply
	links   *channel.LinkTerms // nil: none are offered
	screen  *screen.Screen     // nil: every file may leave
	asks    *screen.Screen     // which files wait for an approval; nil: none do
	asked   *string            // the rule of asks that hit a file, if one did
	now     time.Time          // in the source's time zone; zero if its policy has no hours
}

// authorize turns the claimed chat into a destination. The source is known by
// its folder alone; what the request says of it must agree.
func (b *Bridge) authorize(folder string, r ipc.Request) (destination, error) {
	if r.Folder != "" && r.Folder != folder {
		return destination{}, &ipc.Refusal{
			Code:    "wrong_group",
			Message: "the request names another group's folder as its own",
			Hint:    "leave groupFolder out, or give your own group's folder",
		}
	}
	registry := b.Registry()
	authorize := registry.Authorize
	if r.Type.IsCall() {
		authorize = registry.AuthorizeCall
	}
	chat, err := authorize(folder, r.Chat)
	if err != nil {
		return destination{}, err
	}
	source, _ := registry.ByFolder(folder) // the registry knows it: it has authorized it
	if c := channel.Named(b.Channels, chat.Channel); c != nil {
		dst := destination{chat: chat.JID, channel: c, limits: c.Limits().Tighten(source.Limits),
			from: registry.Asker(folder, r.Conversation), source: source, asked: new(string)}
		if terms, offered := b.LinkTerms(); offered {
			dst.links = &terms
		}
		if source.MaySend.Hours != "" { // a request's own time is the container's claim
			dst.now = time.Now().In(cmp.Or(b.Zone(folder), time.UTC))
		}
		dst.screen, dst.asks = b.Screens()
		return dst, nil
	}
	return destination{chat: chat.JID}, &ipc.Refusal{
		Code:    "channel_unsupported",
		Message: fmt.Sprintf("no channel of this host carries %q", string(chat.JID)),
		Hint:    "ask the operator to configure the chat's channel",
	}
}

func (d *destination) address() groups.Address {
	return groups.Address{Channel: d.channel.Name(), JID: d.chat}
}

// foreign reports whether this is another chat than the source's own.
func (d *destination) foreign() bool { return d.address() != d.source.Address() }

// thread returns the thread that a request is for: a conversation writes in its own only.
func (d *destination) thread(r ipc.Request) string {
	if thread, bound := d.from.Bound(); bound && !d.foreign() {
		return thread
	}
	return r.Thread
}

// noteIn notes the destination of a request in found.
func (d destination) noteIn(found *spool.Found) {
	found.Chat = string(d.chat)
	if d.channel != nil {
		found.Channel = d.channel.Name()
	}
}

// permit refuses a file that the operator's policy for the source does not permit. info
// describes the file as the chat gets it.
func (d destination) permit(info media.Info) error {
	_, err := d.source.Judge(groups.Exit{To: d.address(), File: &info}, d.now)
	return err
}

// screened refuses a secret, and notes the first rule because of which a person is asked.
func (d destination) screened(r io.ReaderAt, size int64, names ...string) error {
	if err := d.screen.Check(r, size, names...); err != nil || *d.asked != "" {
		return err
	}
	rule, err := d.asks.Hit(r, size, names...)
	*d.asked = rule
	return err
}

// asLink reports whether a file that the check refused with err becomes a link: the channel
// takes smaller files of its kind, it fits as nothing else, and neither the group's own
// limits nor those of links forbid it.
func (d destination) asLink(info media.Info, err error) bool {
	large, ok := errors.AsType[*media.LimitError](err)
	if d.links == nil || !ok || large.Limit == 0 || large.AsDocument || info.Size > d.links.Largest {
		return false
	}
	own, limited := d.source.Limits[string(info.Kind)]
	return !limited || info.Size <= own
}
