package upgrade

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	waLog "go.mau.fi/whatsmeow/util/log"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// shift moves the times of an installation, so that it was left an hour ago. It
// knows the tables of the release that made it. Requests keep their times: the
// host knows a request by them.
func shift(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	for name, columns := range map[string][]string{
		"outbox/outbox.db":           {"delivery.created", "delivery.changed", "part.doubt", "part.next", "part.receipt_time", "hold.since"},
		"store/whatsapp-messages.db": {"sent.created", "sent.acked", "inbound.received"},
	} {
		path := filepath.Join(dir, "state", name)
		if !stage.Exists(path) {
			continue
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			table, column, _ := strings.Cut(c, ".")
			if _, err := db.Exec(fmt.Sprintf("UPDATE %s SET %s = %[2]s + ? WHERE %[2]s <> 0", table, column), int64(by)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(filepath.Join(dir, "state"), func(path string, d os.DirEntry, err error) error {
		parent := filepath.Base(filepath.Dir(path))
		if err != nil || d.IsDir() || parent == "messages" {
			return err
		}
		info, err := d.Info()
		if err == nil && (parent == "errors" || strings.Contains(path, "/state/inbound/")) && strings.HasSuffix(path, ".json") {
			err = shiftText(path, by)
		}
		at := info.ModTime().Add(by)
		return errors.Join(err, os.Chtimes(path, at, at))
	})
	if err != nil {
		t.Fatal(err)
	}
}

var writtenTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]+"`)

// shiftText moves the times that a JSON file holds.
func shiftText(path string, by time.Duration) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b = writtenTime.ReplaceAllFunc(b, func(quoted []byte) []byte {
		at, err := time.Parse(time.RFC3339Nano, strings.Trim(string(quoted), `"`))
		if err != nil {
			return quoted
		}
		return []byte(strconv.Quote(at.Add(by).Format(time.RFC3339Nano)))
	})
	return os.WriteFile(path, b, 0o600)
}

// opened unpacks one installation of the first release and returns it, what that
// release said of it, and by how much its times were moved.
func opened(t *testing.T, name string) (dir, expected string, by time.Duration) {
	t.Helper()
	all := stage.Unpack(t, stage.FirstRelease)
	made, err := os.ReadFile(filepath.Join(all, "expected/made"))
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(made)))
	if err != nil {
		t.Fatal(err)
	}
	by = time.Since(at) - time.Hour
	dir = filepath.Join(all, name)
	shift(t, dir, by)
	return dir, filepath.Join(all, "expected", name), by
}

func readJSON(t testing.TB, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deliveries are those of an installation, as the operator sees them.
type deliveries []deliveryShown

type deliveryShown struct {
	ID, Request, State string
	Parts              []struct{ MessageID, PlatformID, Name, SHA256 string }
}

// of is the delivery of a request.
func (all deliveries) of(t testing.TB, request string) deliveryShown {
	t.Helper()
	i := slices.IndexFunc(all, func(d deliveryShown) bool { return d.Request == request })
	if i < 0 {
		t.Fatalf("no request %s was accepted", request)
	}
	return all[i]
}

// listsAreTheSame compares what the operator's commands say, before any host has
// opened what they look at, with what those of the release before said. It
// returns the deliveries.
func listsAreTheSame(t *testing.T, command func(args ...string) *exec.Cmd, expected string, by time.Duration) (all deliveries) {
	t.Helper()
	say := func(args ...string) (v any) {
		t.Helper()
		out, err := command(append(args, "--json")...).Output()
		if err == nil {
			err = json.Unmarshal(out, &v)
		}
		if err != nil {
			t.Fatalf("longshore %s: %v", strings.Join(args, " "), err)
		}
		return v
	}
	readJSON(t, filepath.Join(expected, "shown.json"), &all)
	now := map[string]any{"queue": say("queue", "list", "--all"), "errors": say("errors", "list"), "status": say("status")}
	var shown []any
	for _, d := range all {
		shown = append(shown, say("queue", "show", d.ID))
	}
	now["shown"] = shown
	for name, is := range now {
		var was any
		readJSON(t, filepath.Join(expected, name+".json"), &was)
		for _, d := range differences(name, was, is, by) {
			t.Error(d)
		}
	}
	return all
}

// differences are what today's commands no longer say, or say otherwise, than the
// release before. What is new is none. Times were moved.
func differences(at string, was, is any, by time.Duration) (all []string) {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v", at, is)}
		}
		for k, v := range was {
			if k == "created" || k == "next" || k == "oldest" {
				v = moved(v, by)
			}
			all = append(all, differences(at+"."+k, v, now[k], by)...)
		}
		return all
	case []any:
		now, ok := is.([]any)
		if !ok || len(now) != len(was) {
			return []string{fmt.Sprintf("%s: %v, was %v", at, is, was)}
		}
		for i := range was {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), was[i], now[i], by)...)
		}
		return all
	}
	if !reflect.DeepEqual(was, is) {
		return []string{fmt.Sprintf("%s: %v, was %v", at, is, was)}
	}
	return nil
}

func moved(v any, by time.Duration) any {
	s, ok := v.(string)
	at, err := time.Parse(time.RFC3339Nano, s)
	if !ok || err != nil {
		return v
	}
	return at.Add(by).Format(time.RFC3339Nano)
}

// deviceOf is the account's device in a store of WhatsApp. It opens a copy of
// its own: the library may change what it opens.
func deviceOf(t *testing.T) *store.Device {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(stage.Unpack(t, stage.FirstRelease), "real/state/store/whatsapp.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, err := sqlstore.NewWithDB(db, "sqlite", waLog.Noop).GetFirstDevice(t.Context())
	if err != nil || d.ID == nil {
		t.Fatalf("no device in the store: %v", err)
	}
	return d
}
