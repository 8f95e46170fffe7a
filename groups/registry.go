package groups

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

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

var notFolder = regexp.MustCompile(`[^a-z0-9]+`)

// FolderOf makes a folder of a group's name. It is empty if the name has no letter of
// a to z and no digit.
func FolderOf(name string) string {
	return strings.Trim(notFolder.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// Registry knows every group, by its folder and by its chat. It does not
// change; all methods may be called from several goroutines.
type Registry struct {
	all       []Group
	byFolder  map[string]int
	byAddress map[Address]int
	byJID     map[JID][]int // several if a platform has several accounts
}

// NewRegistry takes the groups in their order. A folder or chat that is bad or
// used twice, or a second main, is an error. Two channels may carry the same
// JID: those are two chats.
func NewRegistry(groups []Group) (*Registry, error) {
	r := &Registry{
		all:       slices.Clone(groups),
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

// NameOf is how main names a group's chat: by its JID, or as "channel/JID" if
// several channels carry that JID.
func (r *Registry) NameOf(g Group) string {
	if len(r.byJID[g.Chat]) > 1 {
		return g.Address().String()
	}
	return string(g.Chat)
}

// Authorize says which chat a request from folder goes to. folder is the name
// of the directory the request was found in, the only identity there is;
// claimed is what the request says: a JID, "channel/JID", or nothing for the
// group's own chat. A group reaches its own chat, main every registered one. It
// is asked for every request anew. The error is an *refusal.Error.
func (r *Registry) Authorize(folder, claimed string) (Address, error) {
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
	if !g.Main {
		// The same words whether or not another group owns the chat: a group
		// learns nothing of the others.
		return Address{}, &refusal.Error{
			Code:    CodeChatNotAllowed,
			Message: fmt.Sprintf("this group may not send to %s", chat),
			Hint:    "leave the chat out: it goes to your own, " + string(g.Chat),
		}
	}
	return r.find(channel, chat)
}

// find is the registered chat with that JID, on that channel if one is named.
func (r *Registry) find(channel string, jid JID) (Address, error) {
	var found []Address
	var names []string
	for _, i := range r.byJID[jid] {
		if a := r.all[i].Address(); channel == "" || channel == a.Channel {
			found, names = append(found, a), append(names, a.String())
		}
	}
	switch len(found) {
	case 0:
		return Address{}, &refusal.Error{
			Code:    CodeChatUnknown,
			Message: fmt.Sprintf("no group is registered for %s", jid),
			Hint:    "chat_info lists the chats that can be reached; the operator adds others to longshore.yaml and runs: longshore reload",
		}
	case 1:
		return found[0], nil
	}
	return Address{}, &refusal.Error{
		Code:    CodeChatAmbiguous,
		Message: fmt.Sprintf("several channels carry %s", jid),
		Hint:    "name the channel too: " + strings.Join(names, " or "),
	}
}
