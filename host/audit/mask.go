package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

const keyBytes = 32

// keyIn reads the key of Mask, or makes one.
func keyIn(dir string) ([]byte, error) {
	key, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, keyBytes)
		_, _ = rand.Read(key) // never fails
		return key, safefs.WriteNew(filepath.Join(dir, "key"), key, 0o600)
	}
	return key, err
}

func readKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "key")
	key, err := os.ReadFile(path)
	if err == nil && len(key) != keyBytes { // with a shorter one, a number could be guessed
		return nil, fmt.Errorf("%s is damaged, and may be moved away: the trail then has other hashes for numbers from here on", path)
	}
	return key, err
}

// Mask is the chat as the trail has it: if a JID holds a member's telephone number, as
// WhatsApp's do, a keyed hash takes its place, unless Numbers are not left out.
func (l *Log) Mask(jid string) string {
	if l == nil || !l.leavesOut(Numbers) {
		return jid
	}
	return mask(l.key, jid)
}

// Claimed is a chat that a container named and the host did not find, as the trail has it:
// in one short line, with each JID in it as Mask has it.
func (l *Log) Claimed(chat string) string {
	if l.leavesOut(Numbers) {
		chat = maskIn(l.key, chat)
	}
	return media.Cut(media.Printable(chat), maxClaimed)
}

const maxClaimed = 100 // characters

// masked is Mask for a reader of the trail, as if Numbers were left out.
func masked(t Trail, jid string) string {
	key := t.maskKey()
	if key == nil {
		return jid
	}
	return mask(key, jid)
}

func (dir filesIn) maskKey() []byte {
	key, _ := os.ReadFile(filepath.Join(string(dir), "key")) // without it, nothing is masked
	return key
}

// mask knows the JIDs with numbers: of a person, and of an old kind of group, whose
// id begins with its founder's number.
func mask(key []byte, jid string) string {
	user, server, ok := strings.Cut(jid, "@")
	person := server == "s.whatsapp.net" || server == "c.us"
	if !ok || !person && !(server == "g.us" && strings.Contains(user, "-")) {
		return jid
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(jid))
	return "~" + hex.EncodeToString(sum.Sum(nil)[:8]) + "@" + server
}

// numbered is a JID that may hold a number, within a text.
var numbered = regexp.MustCompile(`[0-9][0-9A-Za-z.:_-]*@(s\.whatsapp\.net|c\.us|g\.us)`)

// maskIn masks the JIDs in a refusal's message, which may name the chat that was asked for.
func maskIn(key []byte, text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return numbered.ReplaceAllStringFunc(text, func(jid string) string { return mask(key, jid) })
}
