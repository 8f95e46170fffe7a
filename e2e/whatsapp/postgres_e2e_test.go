//go:build e2e

package whatsapp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// A host whose state is in PostgreSQL has WhatsApp's keys there, too. It sends and receives, and the next start
// goes on with the same keys: nobody needs a message encrypted again.
func TestAHostOnPostgreSQLSendsAndReceivesOnWhatsApp(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	h := stage.NewHarbour(t)
	config := filepath.Join(h.Dir, "longshore.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	stage.Write(t, config, string(text)+"state: {directory: state, postgres: {from_file: postgres}}\n")
	stage.Write(t, filepath.Join(h.Dir, "postgres"), server.URL("postgres"))
	h.Link()
	for range 2 {
		host := h.Serve()
		if _, err := h.Anna.SendText(stage.Soon(t), h.Group, "send me the report"); err != nil {
			t.Fatal(err)
		}
		report(h)
		host.Stop()
	}
	for _, r := range h.Srv.Relayed(h.Group) {
		if r.Times != 1 || r.Retries != 0 {
			t.Errorf("message %s was sent %d times, and encrypted again %d times", r.ID, r.Times, r.Retries)
		}
	}
	if there, errs := server.Psql("postgres", "SELECT count(*) > 0 FROM channel_whatsapp.whatsmeow_sessions"); there != "t\n" {
		t.Errorf("the database has no session of the library: %s%s", there, errs)
	}
	if found, _ := filepath.Glob(filepath.Join(h.Dir, "state", "*", "whatsapp.db")); len(found) > 0 || stage.Exists(filepath.Join(h.Dir, "state", "whatsapp.db")) {
		t.Errorf("keys are in the directory: %v", found)
	}
}
