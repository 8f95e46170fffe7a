package whatsapptest

import (
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// Group is a group chat.
type Group struct {
	JID     types.JID // …@g.us; made up where empty
	Subject string
	Members []string // phone numbers; the first is the creator
	Admins  []string // phone numbers of members, beside the creator
	// LID makes members address each other by LID rather than phone number.
	LID bool
	// Announce lets only admins post.
	Announce bool
}

const groupCreated = "1700000000"

// AddGroup makes a group and returns its address. It panics where a member
// has no phone here, or there is none.
func (s *Server) AddGroup(g Group) types.JID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.Members) == 0 {
		panic("whatsapptest: group without members")
	}
	for _, number := range slices.Concat(g.Members, g.Admins) {
		if s.people[number] == nil {
			panic("whatsapptest: no phone has number " + number)
		}
	}
	if g.JID.IsEmpty() {
		g.JID = types.NewJID(fmt.Sprintf("120363%012d", len(s.groups)+1), types.GroupServer)
	}
	g.Members, g.Admins = slices.Clone(g.Members), slices.Clone(g.Admins)
	s.groups[g.JID] = &g
	return g.JID
}

// AddMember lets a phone join a group and tells its members.
func (s *Server) AddMember(group types.JID, number string) { s.change(group, number, "add") }

// RemoveMember puts a phone out of a group and tells its members, and it.
func (s *Server) RemoveMember(group types.JID, number string) { s.change(group, number, "remove") }

func (s *Server) change(group types.JID, number, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, p := s.groups[group], s.people[number]
	if g == nil || p == nil {
		panic("whatsapptest: no such group or phone: " + group.String() + ", " + number)
	}
	told := slices.Clone(g.Members)
	if how == "add" {
		g.Members = append(g.Members, number)
		told = slices.Clone(g.Members)
	} else {
		g.Members = slices.DeleteFunc(g.Members, func(m string) bool { return m == number })
		g.Admins = slices.DeleteFunc(g.Admins, func(m string) bool { return m == number })
	}
	n := wire.Parent("notification", wire.Attrs{
		"from": g.JID, "type": "w:gp2", "id": s.nextID(), "t": wire.Stamp(),
		"participant": s.people[told[0]].address(g.LID), "addressing_mode": g.mode(),
	}, wire.Parent(how, wire.Attrs{"v_id": number + how, "prev_v_id": "0"}, g.participant(p)))
	for _, member := range told {
		for _, d := range s.people[member].linked() {
			d.deliver(n)
		}
	}
	s.happened()
}

// groupQuery answers about one group or all of the asker's. The caller holds
// the lock.
func (sess *session) groupQuery(n *wire.Node) wire.Node {
	s, number := sess.srv, sess.device.owner.number
	switch {
	case wire.Has(n, "participating"):
		var groups []wire.Node
		for _, g := range s.groups {
			if g.member(number) {
				groups = append(groups, s.groupNode(g))
			}
		}
		return result(n, wire.Parent("groups", nil, groups...))
	case wire.Has(n, "query"):
		g := s.groups[wire.Address(n, "to")]
		if g == nil {
			return iqError(n, 404)
		}
		if !g.member(number) {
			return iqError(n, 403)
		}
		return result(n, s.groupNode(g))
	}
	return iqError(n, 501)
}

func (s *Server) groupNode(g *Group) wire.Node {
	creator := s.people[g.Members[0]].address(g.LID)
	var parts []wire.Node
	for _, member := range g.Members {
		parts = append(parts, g.participant(s.people[member]))
	}
	if g.Announce {
		parts = append(parts, wire.Parent("announcement", nil))
	}
	return wire.Parent("group", wire.Attrs{
		"id": g.JID.User, "subject": g.Subject, "creation": groupCreated, "creator": creator,
		"s_t": groupCreated, "s_o": creator, "addressing_mode": g.mode(), "size": wire.Number(len(g.Members)),
	}, parts...)
}

// participant names a member by both addresses, the group's own first.
func (g *Group) participant(p *Phone) wire.Node {
	a := wire.Attrs{"jid": p.address(g.LID)}
	if g.LID {
		a["phone_number"] = p.JID()
	} else {
		a["lid"] = p.LID()
	}
	switch {
	case len(g.Members) > 0 && g.Members[0] == p.number:
		a["type"] = "superadmin"
	case slices.Contains(g.Admins, p.number):
		a["type"] = "admin"
	}
	return wire.Node{Tag: "participant", Attrs: a}
}

func (g *Group) mode() string {
	if g.LID {
		return string(types.AddressingModeLID)
	}
	return string(types.AddressingModePN)
}

func (g *Group) member(number string) bool { return slices.Contains(g.Members, number) }

func (g *Group) mayPost(number string) bool {
	return !g.Announce || g.Members[0] == number || slices.Contains(g.Admins, number)
}
