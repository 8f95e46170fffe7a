package groups

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

var notFolder = regexp.MustCompile(`[^a-z0-9]+`)

// letters are those that Unicode does not compose of letters of a to z and marks: of Latin,
// Cyrillic (as passports have it: ICAO Doc 9303) and Greek (ISO 843).
const letters = "ß ss æ ae œ oe ø o ł l đ d ð d þ th ı i " +
	"а a б b в v г g ґ g д d е e є ie ж zh з z и i і i ј j к k л l љ lj м m н n њ nj о o п p р r с s т t у u ф f х kh ц ts ч ch џ dz " +
	"ш sh щ shch ъ ie ы y ь  э e ю iu я ia ђ d ћ c " +
	"α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"

// FolderOf makes a folder of a group's name in any script: of its letters, or else "group-" and
// a hash that is always the same for the name. It is empty if the name is.
func FolderOf(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(name)))
	plain = strings.NewReplacer(strings.Split(letters, " ")...).Replace(plain)
	folder := strings.Trim(notFolder.ReplaceAllString(plain, "-"), "-")
	if folder == "" && strings.TrimSpace(name) != "" {
		sum := sha256.Sum256([]byte(norm.NFC.String(name)))
		return "group-" + hex.EncodeToString(sum[:4])
	}
	return strings.Trim(folder[:min(len(folder), maxFolder)], "-")
}

// CodeNotRegistered is the code of the refusal of a group that cannot be added.
const CodeNotRegistered = "not_registered"

// MayAdd refuses a group that cannot be added to all: its folder is reserved or has another
// form, its chat or folder is taken, or the folder holds files of a former group, which may
// belong to that group's members. takeOver allows the latter: an operator has named the folder.
func (l Layout) MayAdd(all []Group, g Group, takeOver bool) error {
	refuse := func(message, hint string) error {
		return &refusal.Error{Code: CodeNotRegistered, Message: message, Hint: hint}
	}
	if err := CheckFolder(g.Folder); err != nil {
		return refuse(err.Error(), "choose another name, such as family")
	}
	for _, o := range all {
		if o.Chat == g.Chat && (o.Channel == "" || g.Channel == "" || o.Channel == g.Channel) {
			return refuse("the chat has a group already: folder "+o.Folder, "give that folder, or leave it")
		}
		if strings.EqualFold(o.Folder, g.Folder) {
			return refuse("another group has the folder "+o.Folder, "choose another folder")
		}
	}
	for _, dir := range []string{l.Workspace(g.Folder), l.IPC(g.Folder, ""), l.Session(g.Folder)} {
		if _, err := os.Lstat(dir); !takeOver && !errors.Is(err, fs.ErrNotExist) {
			return refuse("the folder "+g.Folder+" holds files of a former group", "choose another folder, or ask the operator to add the group")
		}
	}
	return nil
}
