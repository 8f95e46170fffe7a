// Package channeltest is the conformance suite: every channel passes [Run] with
// a [Harness] of a few lines, through which the suite acts as the members.
//
// Nothing here sleeps: the suite waits for conditions.
package channeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// Seen is a message of the channel as the members of a chat see it, and
// SeenFile what they have downloaded.
type (
	Seen     = memory.Seen
	SeenFile = memory.SeenFile
)

// Said is what a member writes.
type Said struct {
	From string
	Text string
	File *SaidFile // may be nil
}

// SaidFile is a file that a member attaches.
type SaidFile struct {
	Name string
	MIME string
	Data []byte
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// patience is how long the suite waits for what should come at once. It is
// wide because only a failing test ever waits that long.
const patience = time.Minute
