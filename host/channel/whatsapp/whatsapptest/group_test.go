package whatsapptest_test

import (
	"errors"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestGroupsSayWhoIsInThem(t *testing.T) {
	srv := serve(t)
	a, b, pn := chat(t, srv, false)
	lid := srv.AddGroup(whatsapptest.Group{Subject: "Quay", Members: []string{boris, anna}, Admins: []string{anna}, LID: true, Announce: true})
	joined := must(a.Client.GetJoinedGroups(soon(t)))(t)
	if len(joined) != 2 {
		t.Fatalf("%d groups", len(joined))
	}
	info := must(a.Client.GetGroupInfo(soon(t), lid))(t)
	if info.Name != "Quay" || !info.IsAnnounce || info.AddressingMode != types.AddressingModeLID || info.OwnerJID != b.Phone.LID() {
		t.Errorf("group is %+v", info)
	}
	for _, p := range info.Participants {
		if p.JID.Server != types.HiddenUserServer || p.PhoneNumber.IsEmpty() || !p.IsAdmin {
			t.Errorf("participant is %+v", p)
		}
	}
	info = must(a.Client.GetGroupInfo(soon(t), pn))(t)
	if info.AddressingMode != types.AddressingModePN || info.Participants[1].JID != b.Phone.JID() || info.Participants[1].LID != b.Phone.LID() {
		t.Errorf("group is %+v", info)
	}
}

func TestGroupsThatRefuseASender(t *testing.T) {
	srv := serve(t)
	a, _, group := chat(t, srv, false)
	srv.AddPhone(clara, "Clara")
	if _, err := a.SendText(soon(t), types.NewJID("120363999999999999", types.GroupServer), "x"); !errors.Is(err, whatsmeow.ErrGroupNotFound) {
		t.Errorf("unknown group: %v", err)
	}
	foreign := srv.AddGroup(whatsapptest.Group{Subject: "others", Members: []string{clara}})
	if _, err := a.SendText(soon(t), foreign, "x"); !errors.Is(err, whatsmeow.ErrNotInGroup) {
		t.Errorf("foreign group: %v", err)
	}
	quiet := srv.AddGroup(whatsapptest.Group{Subject: "news", Members: []string{boris, anna}, Announce: true})
	if _, err := a.SendText(soon(t), quiet, "x"); !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("announcement group: %v", err)
	}
	srv.RemoveMember(group, anna)
	if e := must(whatsapptest.Await[*events.GroupInfo](soon(t), a, 0, nil))(t); len(e.Leave) != 1 {
		t.Errorf("heard %+v", e)
	}
	if _, err := a.SendText(soon(t), group, "x"); err == nil {
		t.Error("a sender who has left was heard")
	}
}

func TestNewMemberReadsOnFromThere(t *testing.T) {
	for _, lid := range []bool{false, true} {
		srv := serve(t)
		a, b, group := chat(t, srv, lid)
		c := srv.NewMember(t, clara, "Clara")
		must(a.SendText(soon(t), group, "before"))(t)
		next(t, b)
		srv.AddMember(group, clara)
		must(whatsapptest.Await[*events.GroupInfo](soon(t), a, 0, nil))(t)
		must(a.SendText(soon(t), group, "after"))(t)
		if got := whatsapptest.Text(next(t, c).Message); got != "after" {
			t.Errorf("got %q", got)
		}
	}
}

func TestTypingIsShown(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, true)
	if err := a.Client.SendChatPresence(soon(t), group, types.ChatPresenceComposing, ""); err != nil {
		t.Fatal(err)
	}
	e := must(whatsapptest.Await[*events.ChatPresence](soon(t), b, 0, nil))(t)
	if e.Chat != group || e.State != types.ChatPresenceComposing || e.Sender.User != a.Phone.LID().User {
		t.Errorf("heard %+v", e)
	}
}
