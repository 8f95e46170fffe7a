//go:build e2e

package postgres

import (
	"errors"
	"testing"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// fence is a longshore_fence that lets number 1 through until somebody says otherwise.
const fence = `CREATE TABLE owner (number BIGINT); INSERT INTO owner VALUES (1);
	CREATE FUNCTION longshore_fence(text, bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM 1 FROM owner WHERE number = $2 FOR SHARE;
		IF NOT FOUND THEN RAISE EXCEPTION 'not the owner' USING ERRCODE = 'LS001'; END IF; END $$;`

// WhatsApp's library keeps its keys behind the fence: a ratchet is never advanced by two owners.
func TestALibraryWritesBehindTheFence(t *testing.T) {
	s := pgtest.Start(t)
	if _, errs := s.Psql("postgres", fence); errs != "" {
		t.Fatal(errs)
	}
	c, err := postgres.Read(s.File("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	db := c.OpenNative(postgres.Options{Fence: &postgres.Fence{Cluster: "x", Number: 1}, Limit: postgres.DefaultLimit})
	container := sqlstore.NewWithDB(db, "postgres", nil)
	defer container.Close()
	ctx := t.Context()
	if err := container.Upgrade(ctx); err != nil {
		t.Fatal(err)
	}
	device := container.NewDevice()
	jid := types.NewJID("4915550000001", types.DefaultUserServer)
	device.ID = &jid
	device.Account = &waAdv.ADVSignedDeviceIdentity{Details: []byte{1}, AccountSignatureKey: make([]byte, 32), AccountSignature: make([]byte, 64), DeviceSignature: make([]byte, 64)}
	if err := device.Save(ctx); err != nil {
		t.Fatal(err)
	}
	if err := device.Sessions.PutSession(ctx, "a.0:1", []byte{0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	again, err := container.GetFirstDevice(ctx)
	if err != nil || again.ID == nil || *again.ID != jid {
		t.Fatal(again, err)
	}
	many, err := again.Sessions.GetManySessions(ctx, []string{"a.0:1", "b.0:1"})
	if err != nil || string(many["a.0:1"]) != "\x00\x01\x02" {
		t.Errorf("%v, %v", many, err)
	}
	if _, errs := s.Psql("postgres", "UPDATE owner SET number = 2"); errs != "" {
		t.Fatal(errs)
	}
	if err := again.Sessions.PutSession(ctx, "a.0:1", []byte{9}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the next owner's ratchet was advanced: %v", err)
	}
}
