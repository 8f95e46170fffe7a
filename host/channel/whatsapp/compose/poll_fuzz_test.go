package compose

import (
	"crypto/sha256"
	"slices"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
)

// FuzzVote: whatever a member's app encrypts as a vote, what counts is choices of the
// question, each once and in its order, and one at most if it takes one.
func FuzzVote(f *testing.F) {
	offered := []string{"yes", "no", "perhaps"}
	hash := func(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }
	for _, v := range [][][]byte{nil, {hash("no")}, {hash("no"), hash("no")}, {hash("perhaps"), hash("yes")}, {hash("never")}, {nil}, {hash("no")[:31]}} {
		b, err := proto.Marshal(&waE2E.PollVoteMessage{SelectedOptions: v})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Add([]byte("\xff"), false)
	f.Fuzz(func(t *testing.T, plain []byte, several bool) {
		poll := Poll("?", &channel.Poll{Choices: offered, Several: several}, nil).GetPollCreationMessage()
		got, ok := Chosen(poll, plain)
		if !ok {
			return
		}
		rest := slices.DeleteFunc(slices.Clone(offered), func(c string) bool { return !slices.Contains(got, c) })
		if !slices.Equal(rest, got) || !several && len(got) > 1 {
			t.Errorf("%q was chosen", got)
		}
	})
}
