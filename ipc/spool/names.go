package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/longshore-bridge/longshore/ipc"
)

const reasonSuffix = ".reason.json"

// quarantineStem returns the name of a request's entry in the errors folder. If the
// request's name has to be changed, the entry's name gets a digest of the original,
// so that two requests do not get the same name.
func quarantineStem(folder, file string) string {
	id := strings.TrimSuffix(file, ipc.Suffix)
	if ipc.ValidID(id) && len(id) <= 120 && !strings.HasSuffix(id, ".reason") {
		return folder + "-" + id
	}
	sum := sha256.Sum256([]byte(file))
	safe := strings.Map(func(r rune) rune {
		if ipc.ValidID(string(r)) { // all safe ones but the dot
			return r
		}
		return '_'
	}, id)
	return folder + "-" + safe[:min(len(safe), 100)] + "-" + hex.EncodeToString(sum[:6])
}
