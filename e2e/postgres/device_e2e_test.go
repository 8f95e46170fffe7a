//go:build e2e

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waAdv"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/host/move"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

func postgresOf(t *testing.T) *pgtest.Server {
	t.Helper()
	server := pgtest.Start(t)
	if _, errs := server.Psql("postgres", fence); errs != "" {
		t.Fatal(errs)
	}
	return server
}

// owned is a channel's store for the owner of that fence, on a machine of its own.
func owned(t *testing.T, name, file string, number int64) store.Spec {
	t.Helper()
	dir := t.TempDir()
	home := store.Home{Installation: filepath.Join(dir, "installation"), Aside: filepath.Join(dir, "aside")}
	return device.Spec(name, dir, home, store.Server{File: file, Fence: &postgres.Fence{Cluster: "x", Number: number}})
}

func opened(t *testing.T, s store.Spec) (*device.Keys, *wastore.Device) {
	t.Helper()
	k, d, err := device.Open(context.WithoutCancel(t.Context()), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k, d
}

func link(t *testing.T, d *wastore.Device, number string) {
	t.Helper()
	jid := types.NewJID(number, types.DefaultUserServer)
	d.ID = &jid
	d.Account = &waAdv.ADVSignedDeviceIdentity{Details: []byte{1}, AccountSignatureKey: make([]byte, 32), AccountSignature: make([]byte, 64), DeviceSignature: make([]byte, 64)}
	if err := d.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Two channels have a device each in one database. Each host is the same device; the last owner advances no
// ratchet, and does not connect.
func TestADeviceInPostgresIsTheOwnersAlone(t *testing.T) {
	server := postgresOf(t)
	file := server.File("postgres")
	first := owned(t, "whatsapp", file, 1)
	mine, d := opened(t, first)
	link(t, d, "4915550000001")
	_, second := opened(t, owned(t, "second-phone", file, 1))
	link(t, second, "4915550000002")
	if err := d.Sessions.PutSession(t.Context(), "a.0:1", []byte{0, 1}); err != nil {
		t.Fatal(err)
	}
	if err := mine.CheckOwner(t.Context()); err != nil {
		t.Error("the owner is none:", err)
	}
	if _, errs := server.Psql("postgres", "UPDATE owner SET number = 2"); errs != "" {
		t.Fatal(errs)
	}
	if err := d.Sessions.PutSession(t.Context(), "a.0:1", []byte{9}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the last owner advanced the ratchet: %v", err)
	}
	if err := mine.CheckOwner(t.Context()); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the last owner may connect: %v", err)
	}
	_, next := opened(t, owned(t, "whatsapp", file, 2))
	if next.ID == nil || next.ID.User != "4915550000001" {
		t.Fatalf("the next owner is the device %v", next.ID)
	}
	if kept, err := next.Sessions.GetSession(t.Context(), "a.0:1"); err != nil || string(kept) != "\x00\x01" {
		t.Errorf("the ratchet is %q, %v", kept, err)
	}
	if who, ok := device.Account(t.Context(), owned(t, "second-phone", file, 0)); !ok || who != "4915550000002@s.whatsapp.net" {
		t.Errorf("the second channel's account is %q", who)
	}
}

// A store that was set aside leaves room for another one.
func TestADeviceInPostgresIsSetAside(t *testing.T) {
	server := postgresOf(t)
	s := owned(t, "whatsapp", server.File("postgres"), 1)
	k, d := opened(t, s)
	link(t, d, "4915550000001")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err := store.SetAside([]store.Spec{s}, time.Now()); err != nil || m.Schema == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, d = opened(t, s); d.ID != nil {
		t.Errorf("it is linked to %v", d.ID)
	}
}

type silent struct{}

func (silent) Say(string, ...any) {}

// rows are those of all tables of a store, as a backup has them.
func rows(t *testing.T, spec store.Spec) (all []string) {
	t.Helper()
	one, err := spec.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := errors.Join(move.CopyTo(t.Context(), one, path), one.Close(), store.CheckCopy(t.Context(), path)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"device", "pre_keys", "sessions", "contacts", "chat_settings", "version"} {
		found, err := db.QueryContext(t.Context(), "SELECT * FROM whatsmeow_"+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := found.Columns()
		for found.Next() {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			if err := found.Scan(to...); err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(table, values))
		}
		if err := errors.Join(found.Err(), found.Close()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// A device goes to PostgreSQL and comes back with every row.
func TestADeviceIsMovedThereAndBack(t *testing.T) {
	there := owned(t, "whatsapp", postgresOf(t).File("postgres"), 1)
	here := there
	here.Server = store.Server{}
	k, d := opened(t, here)
	link(t, d, "4915550000001")
	_, err := d.PreKeys.GetOrGenPreKeys(t.Context(), 5)
	err = errors.Join(err, d.Sessions.PutSession(t.Context(), "a.0:1", []byte{0, 255}), d.ChatSettings.PutPinned(t.Context(), *d.ID, true),
		d.Contacts.PutAllContactNames(t.Context(), []wastore.ContactEntry{{JID: *d.ID, FirstName: "Ada", FullName: "Ada L"}}), k.Close())
	if err != nil {
		t.Fatal(err)
	}
	before := rows(t, here)
	if len(before) != 10 {
		t.Fatalf("%d rows: %q", len(before), before)
	}
	o := move.Options{From: here, To: there, Now: time.Now(), Progress: silent{}}
	for range 2 {
		if _, err := move.Move(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, rows(t, o.To)); diff != "" {
			t.Error(diff)
		}
		if _, err := move.Move(t.Context(), o); !errors.Is(err, move.ErrMoved) {
			t.Errorf("moved twice: %v", err)
		}
		o.From, o.To = o.To, o.From
	}
	if _, d = opened(t, here); d.ID == nil {
		t.Error("it is not linked any more")
	}
}
