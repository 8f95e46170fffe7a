//go:build e2e

package stores

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// installation is one that no host runs.
type installation struct {
	*testing.T
	dir string
}

func (i installation) file() string { return filepath.Join(i.dir, "longshore.yaml") }

func (i installation) configure(state string) {
	i.Helper()
	text := "state: " + state + "\nlimits: {free_disk: 1MB}\nchannels: {web: {listen: \"127.0.0.1:0\"}}\ngroups:\n  - {name: G0, folder: g0, chat: \"web:g0\"}\n"
	if err := os.WriteFile(i.file(), []byte(text), 0o600); err != nil {
		i.Fatal(err)
	}
}

func (i installation) run(args ...string) string {
	i.Helper()
	out, errs, code := stage.RunLine(i.T, i.file(), args...)
	if code != stage.ExitOK {
		i.Fatalf("longshore %s: %d\n%s\n%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func (i installation) refused(words string, args ...string) {
	i.Helper()
	out, errs, code := stage.RunLine(i.T, i.file(), args...)
	if code == stage.ExitOK || !strings.Contains(errs, words) {
		i.Errorf("longshore %s: %d, want %q\n%s\n%s", strings.Join(args, " "), code, words, out, errs)
	}
}

// waiting are the files of the deliveries that wait.
func (i installation) waiting() (n int) {
	i.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(i.run("queue", "list", "--json")), &all); err != nil {
		i.Fatal(err)
	}
	return len(all)
}

// The state of the real program goes to PostgreSQL, into a backup, out of it into another PostgreSQL, and
// back to SQLite: what waits to be sent, its bytes and the audit trail are there each time.
func TestAnInstallationMovesThereAndBack(t *testing.T) {
	server := pgtest.Start(t)
	for _, name := range []string{"one", "two"} {
		if _, errs := server.Psql("postgres", "CREATE DATABASE "+name); errs != "" {
			t.Fatal(errs)
		}
		noteSessions(server, name)
	}
	first := installation{t, t.TempDir()}
	first.configure("./state")
	small, large := filepath.Join(first.dir, "small.txt"), filepath.Join(first.dir, "large.bin")
	for path, size := range map[string]int{small: 1000, large: 100_000} {
		if err := os.WriteFile(path, []byte(strings.Repeat("0123456789", size/10)), 0o600); err != nil {
			t.Fatal(err)
		}
		first.run("send", path, "--group", "g0")
	}
	one := server.File("one")
	out := first.run("state", "move", "--to", "postgres", "--from-file", one)
	if !strings.Contains(out, "postgres: {from_file: "+one+"}") || !strings.Contains(out, "the old ones are in ") {
		t.Errorf("%s", out)
	}
	first.refused("database", "queue", "list") // the file says still that the state is in the directory
	first.configure("{directory: ./state, postgres: {from_file: " + one + "}}")
	if n := first.waiting(); n != 2 {
		t.Fatalf("%d deliveries wait", n)
	}
	first.refused("there already", "state", "move", "--to", "postgres")
	first.run("audit", "verify")
	first.run("doctor")

	backups := filepath.Join(t.TempDir(), "backups")
	first.run("backup", backups)
	all, _ := filepath.Glob(filepath.Join(backups, "longshore-*"))
	if len(all) != 1 {
		t.Fatal(all)
	}
	first.run("backup", "verify", all[0])
	first.refused("has a state", "restore", all[0])

	second := installation{t, t.TempDir()}
	second.configure("{directory: ./state, postgres: {from_file: " + server.File("two") + "}}")
	second.run("restore", all[0], "--nothing-sent")
	if n := second.waiting(); n != 2 {
		t.Errorf("%d deliveries wait after the restore", n)
	}
	if out, _ := server.Psql("two", "SELECT COUNT(*) FROM bytes"); strings.TrimSpace(out) != "1" {
		t.Errorf("%s small files", out)
	}
	if blobs, _ := filepath.Glob(filepath.Join(second.dir, "state", "blobs", "????????????????????????????????")); len(blobs) != 1 {
		t.Errorf("large files: %q", blobs)
	}
	server.Psql("two", `UPDATE lease SET owner = 'left', expires = clock_timestamp() + interval '1 hour'`)
	second.refused("left", "state", "move", "--to", "sqlite") // a host on another machine owns
	second.refused("left", "store", "set-aside", "state")
	server.Psql("two", `UPDATE lease SET expires = clock_timestamp()`)
	second.run("state", "move", "--to", "sqlite")
	second.configure("./state")
	if n := second.waiting(); n != 2 {
		t.Errorf("%d deliveries wait on SQLite", n)
	}
	second.run("audit", "verify")
	second.run("doctor")

	first.run("store", "set-aside", "state")
	if n := first.waiting(); n != 0 {
		t.Errorf("%d deliveries wait after set-aside", n)
	}
	// A move that was frozen until another host owned thawed, and wrote.
	for _, name := range []string{"one", "two"} {
		if got := unfenced(server, name); got != "t|" {
			t.Errorf("%s: without a fence: %q", name, got)
		}
	}
}

// noteSessions makes a database note the session that makes or moves tables of the state.
func noteSessions(server *pgtest.Server, database string) {
	server.Psql(database, `CREATE TABLE noted (name TEXT, what TEXT);
		CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO public.noted SELECT current_setting('application_name'), object_identity FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE '%longshore_store' OR object_type = 'schema';
		END $$;
		CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION note()`)
}

// unfenced are what sessions made or moved that no fence stops.
func unfenced(server *pgtest.Server, database string) string {
	out, errs := server.Psql(database, `SELECT count(*) > 0, coalesce(string_agg(what, ', ') FILTER (WHERE name NOT LIKE 'longshore default %'), '') FROM noted`)
	return strings.TrimSpace(out + errs)
}
