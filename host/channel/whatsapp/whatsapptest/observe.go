package whatsapptest

import (
	"context"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// Relayed is one message that the server passed on. What a member of the chat
// sees twice has Times above one, or two entries.
type Relayed struct {
	Chat      types.JID
	ID        string
	Sender    types.JID // the device, by phone number
	Type      string    // text, media, reaction, …
	MediaType string    // document, image, ptt, …; "" for text
	Times     int       // how often the sender handed it in, retries apart
	Retries   int       // how often it was encrypted again for one device
	At        time.Time // the first time
}

// Upload is one attempt to upload a file.
type Upload struct {
	Kind      string // image, video, audio, document
	Size      int64  // bytes of ciphertext that came
	EncSHA256 string // the hash in the address, in hexadecimal
	Status    int    // of the answer; 0 where the connection was cut
}

// record notes a message. The caller holds the lock.
func (s *Server) record(sender *Device, n *wire.Node, retry bool) {
	chat := wire.Address(n, "to")
	if r := wire.Address(n, "recipient"); retry && !r.IsEmpty() {
		chat = r
	}
	if chat.Server != types.GroupServer {
		if p := s.person(chat); p != nil {
			chat = p.JID() // one chat, whichever address was used
		}
	}
	id := wire.Text(n, "id")
	i := slices.IndexFunc(s.relayed, func(r *Relayed) bool { return r.ID == id && (r.Chat == chat || retry) })
	if i < 0 {
		r := &Relayed{Chat: chat, ID: id, Sender: sender.jid(false), Type: wire.Text(n, "type"), At: time.Now()}
		s.relayed = append(s.relayed, r)
		i = len(s.relayed) - 1
	}
	r := s.relayed[i]
	if retry {
		r.Retries++
	} else {
		r.Times++
		r.MediaType = mediaType(n)
	}
	s.happened()
}

// mediaType stands at the enc of a group, or at those of single devices.
func mediaType(n *wire.Node) string {
	participants := n.GetChildByTag("participants")
	encs := n.GetChildrenByTag("enc")
	for _, to := range participants.GetChildrenByTag("to") {
		encs = append(encs, to.GetChildrenByTag("enc")...)
	}
	for _, enc := range encs {
		if kind := wire.Text(&enc, "mediatype"); kind != "" {
			return kind
		}
	}
	return ""
}

// Relayed lists the messages passed on in a chat, or in all where it is
// empty, in the order of their first time. A direct chat is named by its
// receiver's phone number, whichever address the sender used.
func (s *Server) Relayed(chat types.JID) []Relayed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Relayed
	for _, r := range s.relayed {
		if chat.IsEmpty() || r.Chat == chat {
			list = append(list, *r)
		}
	}
	return list
}

// Uploads lists the attempts to upload, in the order in which they ended.
func (s *Server) Uploads() []Upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uploads)
}

// Await returns once the condition holds, asking again whenever something
// happened at the server, or with the context's error. The condition may call
// any method of the server and its phones.
func (s *Server) Await(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if condition() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
