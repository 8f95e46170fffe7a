package whatsapptest

import (
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// Phone is an account and the phone that owns it. The phone's key signs the
// identity of each device that is paired with it.
type Phone struct {
	srv      *Server
	number   string
	name     string
	lid      string
	identity *keys.KeyPair

	// Guarded by the server's lock.
	devices  map[uint16]*Device
	lastID   uint16
	link     *linkAttempt
	linkDone chan []byte // the key bundle that ends a pairing by code
}

// Device is a paired device, as the server knows it.
type Device struct {
	owner    *Phone
	id       uint16
	name     string
	keyIndex uint32
	noise    [32]byte

	bundle  keyBundle
	session *session
	pending []wire.Node // sent, or to be sent, and not acked
}

// DeviceInfo is one line of the phone's list of linked devices.
type DeviceInfo struct {
	JID, LID types.JID
	Name     string // as the device called itself when it was paired
	Online   bool
	Pending  int // stanzas that it has not acked
	PreKeys  int // one-time keys that are left
}

// AddPhone makes an account. The number is the international one, digits only;
// the name is what others see. It panics where the number is taken.
func (s *Server) AddPhone(number, name string) *Phone {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people[number] != nil {
		panic("whatsapptest: number " + number + " is taken")
	}
	p := &Phone{
		srv: s, number: number, name: name, identity: keys.NewKeyPair(),
		lid: fmt.Sprintf("1%014d", len(s.people)+1), devices: map[uint16]*Device{},
	}
	s.people[number] = p
	s.byLID[p.lid] = p
	return p
}

// Phone is the account of that number, nil where there is none.
func (s *Server) Phone(number string) *Phone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people[number]
}

// Number is the phone number in digits.
func (p *Phone) Number() string { return p.number }

// Rename gives the account another name.
func (p *Phone) Rename(name string) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	p.name = name
}

// JID is the account's address by phone number.
func (p *Phone) JID() types.JID { return types.NewJID(p.number, types.DefaultUserServer) }

// LID is the account's other address, which hides the number.
func (p *Phone) LID() types.JID { return types.NewJID(p.lid, types.HiddenUserServer) }

// Devices lists the devices linked with the phone, oldest first.
func (p *Phone) Devices() []DeviceInfo {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	var list []DeviceInfo
	for _, d := range p.linked() {
		list = append(list, DeviceInfo{
			JID: d.jid(false), LID: d.jid(true), Name: d.name, Online: d.session != nil,
			Pending: len(d.pending), PreKeys: len(d.bundle.oneTime),
		})
	}
	return list
}

// Online tells whether a device of this phone is logged in right now.
func (p *Phone) Online() bool {
	return slices.ContainsFunc(p.Devices(), func(d DeviceInfo) bool { return d.Online })
}

// Settled tells whether those devices that are online have confirmed all they
// were sent.
func (p *Phone) Settled() bool {
	return !slices.ContainsFunc(p.Devices(), func(d DeviceInfo) bool { return d.Online && d.Pending > 0 })
}

// address is one of the account's two names.
func (p *Phone) address(lid bool) types.JID {
	if lid {
		return p.LID()
	}
	return p.JID()
}

// linked are the devices in the order of their ids. The caller holds the lock.
func (p *Phone) linked() []*Device {
	list := make([]*Device, 0, len(p.devices))
	for _, d := range p.devices {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *Device) int { return int(a.id) - int(b.id) })
	return list
}

func (d *Device) jid(lid bool) types.JID {
	jid := d.owner.address(lid)
	jid.Device = d.id
	return jid
}

// person finds an account by either of its names. The caller holds the lock.
func (s *Server) person(jid types.JID) *Phone {
	if jid.Server == types.HiddenUserServer {
		return s.byLID[jid.User]
	}
	return s.people[jid.User]
}

// find returns the device of an address. The caller holds the lock.
func (s *Server) find(jid types.JID) *Device {
	p := s.person(jid)
	if p == nil {
		return nil
	}
	return p.devices[jid.Device]
}

// deliver sends a stanza and keeps it until the device has acked it, over
// logins. The caller holds the lock.
func (d *Device) deliver(n wire.Node) {
	d.pending = append(d.pending, n)
	if d.session != nil {
		d.session.send(n)
	}
}
