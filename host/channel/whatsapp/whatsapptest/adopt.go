package whatsapptest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"go.mau.fi/whatsmeow/store"
)

// Adopt links a device that was paired with another server, which had a phone of
// the same number at the same place in the order of AddPhone: the place gives
// the LID. The device uploads its keys when it logs in.
func (p *Phone) Adopt(d *store.Device) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	id := d.ID.Device
	p.lastID = max(p.lastID, id)
	p.devices[id] = &Device{owner: p, id: id, keyIndex: uint32(id), name: d.PushName, noise: *d.NoiseKey.Pub}
	p.srv.happened()
}

// Offer keeps a ciphertext that was uploaded to another server.
func (s *Server) Offer(ciphertext []byte) error {
	sum := sha256.Sum256(ciphertext)
	_, err := s.keep(hex.EncodeToString(sum[:]), bytes.NewReader(ciphertext))
	return err
}
