package groups

import (
	"regexp"
	"slices"
	"strings"
)

// Members says what the members of a group's chat may do with its assistant. The
// zero value is the default: everybody may speak and stop, admins may begin anew.
type Members struct {
	Speak Who `yaml:"speak" help:"Who may speak to the assistant: all, admins, or the platform's ids of members, [admins, U012AB3CD]. It reads nothing of the others."`
	Stop  Who `yaml:"stop" help:"Who may end a running answer with /stop: speak (whoever may speak), admins, or ids."`
	New   Who `yaml:"new" help:"Who may begin a new conversation with /new: admins, speak, or ids."`
}

// Right is what a member may do.
type Right string

// The rights.
const (
	MaySpeak Right = "speak" // be heard by the assistant, and ask /status and /help
	MayStop  Right = "stop"
	MayNew   Right = "new"
)

// Of says who has a right, with defaults filled in and "speak" resolved.
func (m Members) Of(r Right) Who {
	speak := orWho(m.Speak, WhoAll)
	who := speak
	switch r {
	case MayStop:
		who = orWho(m.Stop, WhoSpeak)
	case MayNew:
		who = orWho(m.New, WhoAdmins)
	}
	if i := slices.Index(who, WhoSpeak); i >= 0 {
		who = slices.Concat(who[:i], speak, who[i+1:])
	}
	return who
}

func orWho(w Who, word string) Who {
	if len(w) == 0 {
		return Who{word}
	}
	return w
}

// Who names members: words, and ids as their platform gives them. One of them
// is enough. A display name is never an id.
type Who []string

// The words of a Who.
const (
	WhoAll    = "all"
	WhoAdmins = "admins" // of the chat, by the platform's word
	WhoSpeak  = "speak"  // those of Members.Speak
)

// UnmarshalText reads a Who that is one word or id; a list is read element by element.
func (w *Who) UnmarshalText(text []byte) error {
	*w = Who{string(text)}
	return nil
}

// Admins says whether the answer may depend on who is an admin.
func (w Who) Admins() bool { return slices.Contains(w, WhoAdmins) && !slices.Contains(w, WhoAll) }

// Has says whether a member is one of them. ids are all by which the platform knows
// the member; empty ones are none.
func (w Who) Has(admin bool, ids ...string) bool {
	return slices.ContainsFunc(w, func(entry string) bool {
		switch entry {
		case WhoAll:
			return true
		case WhoAdmins:
			return admin
		}
		return slices.ContainsFunc(ids, func(id string) bool { return id != "" && id == memberID(entry) })
	})
}

var (
	phoneNumber = regexp.MustCompile(`^\+?[0-9]{5,20}$`)
	memberForm  = regexp.MustCompile(`^[A-Za-z0-9+][A-Za-z0-9_.@:-]{0,127}$`)
)

// memberID is an entry as platforms write ids: a phone number is WhatsApp's.
func memberID(entry string) string {
	if phoneNumber.MatchString(entry) {
		return strings.TrimPrefix(entry, "+") + "@s.whatsapp.net"
	}
	return entry
}

// MemberWords are the words that a key of Members takes beside ids.
func MemberWords(r Right) []string {
	if r == MaySpeak {
		return []string{WhoAll, WhoAdmins}
	}
	return []string{WhoSpeak, WhoAdmins, WhoAll}
}

// MemberForm says whether a text can be an id of a member. A word in small letters
// is not one: it would be a misspelt word, and shut everybody out.
func MemberForm(entry string) bool {
	return memberForm.MatchString(entry) && (strings.ContainsAny(entry, "0123456789@") || entry == strings.ToUpper(entry))
}
