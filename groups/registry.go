package groups

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// maxFolder is the length of a group's folder, in bytes, as FolderPattern has it.
const maxFolder = 64

// FolderPattern is what a group's folder may be called; it is NanoClaw v1's.
var FolderPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckFolder says what is wrong with a folder's name, or nil. The names that
// mean something else under groups/ and ipc/ are reserved in any case, since
// some file systems do not tell one case from another.
func CheckFolder(folder string) error {
	if !FolderPattern.MatchString(folder) {
		return fmt.Errorf("folder %q is no name of a group: it takes 1 to 64 letters, digits, _ and -, and starts with a letter or digit", folder)
	}
	for _, reserved := range []string{GlobalFolder, errorsFolder} {
		if strings.EqualFold(folder, reserved) {
			return fmt.Errorf("folder %q is reserved", folder)
		}
	}
	return nil
}

// Registry knows every group, by its folder and by its chat. It does not
// change; all methods may be called from several goroutines.
type Registry struct {
	all       []Group
	byFolder  map[string]int
	byAddress map[Address]int
	byJID     map[JID][]int // several if a platform has several accounts

	destinations map[string]Destination
}

// NewRegistry takes the groups in their order. A folder or chat that is bad or
// used twice, or a second main, is an error. Two channels may carry the same
// JID: those are two chats. The registry keeps the slice: the caller does not
// change it any more.
func NewRegistry(groups []Group) (*Registry, error) {
	r := &Registry{
		all:       groups,
		byFolder:  make(map[string]int, len(groups)),
		byAddress: make(map[Address]int, len(groups)),
		byJID:     make(map[JID][]int, len(groups)),
	}
	var errs []error
	main := -1
	for i, g := range r.all {
		if err := CheckFolder(g.Folder); err != nil {
			errs = append(errs, err)
		}
		if _, err := ParseJID(string(g.Chat)); err != nil {
			errs = append(errs, fmt.Errorf("group %s: %w", g.Folder, err))
		}
		if _, taken := r.byFolder[g.Folder]; taken {
			errs = append(errs, fmt.Errorf("two groups have the folder %q", g.Folder))
		}
		if j, taken := r.byAddress[g.Address()]; taken {
			errs = append(errs, fmt.Errorf("groups %s and %s have the same chat %s", r.all[j].Folder, g.Folder, g.Chat))
		}
		if g.Main {
			if main >= 0 {
				errs = append(errs, fmt.Errorf("groups %s and %s are both main", r.all[main].Folder, g.Folder))
			}
			main = i
		}
		r.byFolder[g.Folder] = i
		r.byAddress[g.Address()] = i
		r.byJID[g.Chat] = append(r.byJID[g.Chat], i)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// WithDestinations returns a registry that knows these chats beside the groups'. A name
// that is bad or a group's folder, and a chat that is bad or a group's, are errors.
func (r *Registry) WithDestinations(all map[string]Destination) (*Registry, error) {
	var errs []error
	for name, d := range all {
		_, folder := r.byFolder[name]
		_, owned := r.byAddress[d.Address()]
		_, err := ParseJID(string(d.Chat))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("destination %s: %w", name, err))
		case folder || CheckFolder(name) != nil:
			errs = append(errs, fmt.Errorf("%q is a group's folder, or no name of a destination", name))
		case owned:
			errs = append(errs, fmt.Errorf("destination %s has the chat of a group, %s", name, d.Chat))
		}
	}
	with := *r
	with.destinations = maps.Clone(all)
	return &with, errors.Join(errs...)
}

// Destinations returns the names of the destinations that a group may send to, sorted,
// and what they stand for.
func (r *Registry) Destinations(g Group) (names []string, all map[string]Destination) {
	for _, name := range slices.Sorted(maps.Keys(r.destinations)) {
		if g.Reaches(name) {
			names = append(names, name)
		}
	}
	return names, r.destinations
}

// All returns the groups in the order of the configuration.
func (r *Registry) All() []Group { return slices.Clone(r.all) }

// ByFolder finds the group whose directory is called folder.
func (r *Registry) ByFolder(folder string) (Group, bool) {
	i, ok := r.byFolder[folder]
	if !ok {
		return Group{}, false
	}
	return r.all[i], true
}

// ByAddress finds the group that owns a chat.
func (r *Registry) ByAddress(chat Address) (Group, bool) {
	i, ok := r.byAddress[chat]
	if !ok {
		return Group{}, false
	}
	return r.all[i], true
}

// NameOf is how another group names a group's chat: by its JID, or as "channel/JID" if
// several channels carry that JID.
func (r *Registry) NameOf(g Group) string {
	if len(r.byJID[g.Chat]) > 1 {
		return g.Address().String()
	}
	return string(g.Chat)
}

// Authorize says which chat a request from folder goes to. folder is the name
// of the directory the request was found in, the only identity there is;
// claimed is what the request says: a JID, "channel/JID", the name of a destination, or
// nothing for the group's own chat. A group reaches its own chat and those of may_send_to, main every
// registered one. It is asked for every request anew. The error is an *refusal.Error.
func (r *Registry) Authorize(folder, claimed string) (Address, error) {
	if g, ok := r.ByFolder(folder); ok {
		if d, ok := r.destinations[claimed]; ok && g.Reaches(claimed) {
			return d.Address(), nil
		}
	}
	return r.authorize(folder, claimed, r.destinations, Group.Reaches)
}

// AuthorizeCall is Authorize for requests that read a chat or schedule for it: a group
// does that with its own chat, main with every registered one. may_send_to gives no
// right to read.
func (r *Registry) AuthorizeCall(folder, claimed string) (Address, error) {
	chat, err := r.authorize(folder, claimed, nil, func(g Group, folder string) bool { return g.Main || g.Folder == folder })
	if refused := refusal.Of(err); refused != nil && refused.Code == CodeChatNotAllowed { // it may be one of may_send_to
		refused.Message = strings.Replace(refused.Message, "send to", "read, or schedule for,", 1)
	}
	return chat, err
}

func (r *Registry) authorize(folder, claimed string, more map[string]Destination, reaches func(g Group, name string) bool) (Address, error) {
	g, ok := r.ByFolder(folder)
	if !ok {
		return Address{}, &refusal.Error{
			Code:    CodeGroupUnknown,
			Message: fmt.Sprintf("no group has the folder %q", folder),
			Hint:    "the operator adds the group to longshore.yaml and runs: longshore reload",
		}
	}
	own := g.Address()
	if claimed == "" {
		return own, nil
	}
	channel, jid := "", claimed
	if before, after, _ := strings.Cut(claimed, "/"); before != "" && after != "" {
		channel, jid = before, after
	}
	chat, err := ParseJID(jid)
	if err != nil {
		return Address{}, err
	}
	if chat == own.JID && (channel == "" || channel == own.Channel) {
		return own, nil
	}
	var found []Address
	add := func(name string, a Address) {
		if a.JID == chat && (channel == "" || channel == a.Channel) && reaches(g, name) {
			found = append(found, a)
		}
	}
	for _, i := range r.byJID[chat] {
		add(r.all[i].Folder, r.all[i].Address())
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		add(name, more[name].Address())
	}
	return g.theOne(chat, found)
}

// theOne returns the one chat that a group reaches under a JID.
func (g Group) theOne(jid JID, found []Address) (Address, error) {
	switch {
	case len(found) == 0 && !g.Main:
		// The same words whether or not another group owns the chat: a group
		// learns nothing of the others.
		hint := "leave the chat out: it goes to your own, " + string(g.Chat)
		if len(g.MaySendTo) > 0 {
			hint += "; chat_info lists the chats that you may name"
		}
		return Address{}, &refusal.Error{Code: CodeChatNotAllowed, Message: fmt.Sprintf("this group may not send to %s", jid), Hint: hint}
	case len(found) == 0:
		return Address{}, &refusal.Error{
			Code:    CodeChatUnknown,
			Message: fmt.Sprintf("no group is registered for %s", jid),
			Hint:    "chat_info lists the chats that can be reached; the operator adds others to longshore.yaml and runs: longshore reload",
		}
	case len(found) == 1:
		return found[0], nil
	}
	var names []string
	for _, a := range found {
		names = append(names, a.String())
	}
	return Address{}, &refusal.Error{
		Code:    CodeChatAmbiguous,
		Message: fmt.Sprintf("several channels carry %s", jid),
		Hint:    "name the channel too: " + strings.Join(names, " or "),
	}
}
