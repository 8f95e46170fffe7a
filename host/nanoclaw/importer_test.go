package nanoclaw_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/nanoclaw"
)

// The schema's two ages.
const (
	oldSchema = `CREATE TABLE registered_groups (jid TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL UNIQUE,
		trigger_pattern TEXT NOT NULL, added_at TEXT NOT NULL, container_config TEXT)`
	newSchema = `CREATE TABLE registered_groups (jid TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL UNIQUE,
		trigger_pattern TEXT NOT NULL, added_at TEXT NOT NULL, container_config TEXT, requires_trigger INTEGER DEFAULT 1, is_main INTEGER DEFAULT 0);
		CREATE TABLE scheduled_tasks (id TEXT PRIMARY KEY, status TEXT);
		INSERT INTO scheduled_tasks VALUES ('a', 'active'), ('b', 'completed'), ('c', 'active')`
)

// site is a made-up installation, beside a home directory and a place for the
// configuration.
type site struct {
	testing.TB
	base, dir, home, file string
}

func newSite(t testing.TB) site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := site{TB: t, base: base, dir: filepath.Join(base, "nanoclaw"), home: filepath.Join(base, "home"), file: filepath.Join(base, "etc", "longshore.yaml")}
	for _, dir := range []string{"nanoclaw/store", "nanoclaw/data", "home/.config/nanoclaw", "etc"} {
		s.must(os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	return s
}

func (s site) must(err error) {
	if err != nil {
		s.Helper()
		s.Fatal(err)
	}
}

func (s site) write(path, text string) {
	s.Helper()
	path = filepath.Join(s.base, path)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(text), 0o644))
}

// database makes store/messages.db.
func (s site) database(schema string, inserts ...string) {
	s.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "store/messages.db"))
	s.must(err)
	defer db.Close()
	for _, q := range append([]string{schema}, inserts...) {
		_, err := db.Exec(q)
		s.must(err)
	}
}

func (s site) read() (*nanoclaw.Found, error) {
	return nanoclaw.Read(s.Context(), s.dir, nanoclaw.Options{Platforms: platforms(), Localtime: filepath.Join(s.base, "localtime"), Getenv: func(name string) string {
		return map[string]string{"HOME": s.home}[name]
	}})
}

// plan imports, and checks that the directory is untouched and that what would
// be written is valid.
func (s site) plan() (*nanoclaw.Plan, *config.Config) {
	s.Helper()
	before := s.tree()
	found, err := s.read()
	s.must(err)
	plan, err := found.Plan(s.file)
	s.must(err)
	if diff := cmp.Diff(before, s.tree()); diff != "" {
		s.Errorf("the import changed the directory: %s", diff)
	}
	cfg, err := config.Parse(s.file, []byte(plan.Text), os.Getenv, platforms())
	if err != nil {
		s.Fatalf("what it writes is not valid: %v\n%s", err, plan.Text)
	}
	if !cfg.Layout().V1 || cfg.State.Directory != s.dir {
		s.Errorf("layout %q, state %q", cfg.Style, cfg.State.Directory)
	}
	return plan, cfg
}

// tree is every file of the installation with its content and time.
func (s site) tree() map[string]string {
	s.Helper()
	all := map[string]string{}
	s.must(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			all[path] += string(b)
			return err
		}
		return nil
	}))
	return all
}

// leftOut wants one thing whose name holds what to be left out because of why.
func leftOut(t *testing.T, p *nanoclaw.Plan, what, why string) {
	t.Helper()
	for _, l := range p.LeftOut {
		if strings.Contains(l.What, what) && strings.Contains(l.Why, why) {
			return
		}
	}
	t.Errorf("nothing like %q is left out because of %q: %+v", what, why, p.LeftOut)
}

func noted(t *testing.T, p *nanoclaw.Plan, words string) {
	t.Helper()
	if !strings.Contains(strings.Join(p.Notes, "\n"), words) {
		t.Errorf("no note says %q: %q", words, p.Notes)
	}
}

func TestADatabaseWithoutTheLaterColumns(t *testing.T) {
	s := newSite(t)
	s.database(oldSchema,
		`INSERT INTO registered_groups VALUES ('4915100000000@s.whatsapp.net', 'Me', 'main', '@Andy', '2026-01-01', NULL)`,
		`INSERT INTO registered_groups VALUES ('120363000000000000@g.us', 'Tom & "Ann" \', 'family', '@Andy', '2026-01-02', NULL)`)
	plan, cfg := s.plan()
	want := []nanoclaw.Group{
		{Name: "Me", Folder: "main", Chat: "4915100000000@s.whatsapp.net", Main: true},
		{Name: `Tom & "Ann" \`, Folder: "family", Chat: "120363000000000000@g.us", Trigger: "@Andy"},
	}
	if diff := cmp.Diff(want, plan.Groups); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(plan.Text, `name: "Tom & \"Ann\" \\"`) || cfg.Groups[1].Name != want[1].Name {
		t.Errorf("the name is written so:\n%s", plan.Text)
	}
	if len(plan.LeftOut) != 0 || len(cfg.Groups) != 2 || !cfg.Groups[0].Main || cfg.Project != s.dir {
		t.Errorf("left out %+v, groups %+v, project %s", plan.LeftOut, cfg.Groups, cfg.Project)
	}
}

func TestADatabaseOfTheLastV1(t *testing.T) {
	s := newSite(t)
	s.database(newSchema,
		`INSERT INTO registered_groups VALUES ('1@g.us', 'Me', 'whatsapp_main', '@Bee', '2026-01-01', NULL, 1, 1)`,
		`INSERT INTO registered_groups VALUES ('2@g.us', 'Loud', 'loud', '@Bee', '2026-01-02', NULL, 0, 0)`,
		`INSERT INTO registered_groups VALUES ('3@g.us', 'Old pattern', 'old', '^@Bee\b', '2026-01-03', '{"timeout":60000}', NULL, NULL)`,
		`INSERT INTO registered_groups VALUES ('4@g.us', 'main by name only', 'main', '@Bee', '2026-01-04', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('dc:123', 'Discord', 'disc', '@Bee', '2026-01-05', NULL, 1, 0)`)
	s.write("nanoclaw/.env", "# knobs\nASSISTANT_NAME=\"Bee\"\nexport CONTAINER_TIMEOUT=60000\nIDLE_TIMEOUT=soon\nMAX_CONCURRENT_CONTAINERS=3\nCONTAINER_IMAGE=my/agent:1\nANTHROPIC_API_KEY=hunter2\nONECLI_URL=http://127.0.0.1:10254\nTZ=Europe/Berlin\n")
	plan, cfg := s.plan()
	want := []nanoclaw.Group{
		{Name: "Me", Folder: "whatsapp_main", Chat: "1@g.us", Main: true},
		{Name: "Loud", Folder: "loud", Chat: "2@g.us"},
		{Name: "Old pattern", Folder: "old", Chat: "3@g.us", Trigger: "@Bee"},
		{Name: "main by name only", Folder: "main", Chat: "4@g.us", Trigger: "@Bee"},
	}
	if diff := cmp.Diff(want, plan.Groups); diff != "" {
		t.Error(diff)
	}
	a := cfg.Assistants["nanoclaw"]
	if cfg.Name != "Bee" || a.Image != "my/agent:1" || a.TurnTimeout.Std().Seconds() != 60 || cfg.Limits.Assistants != 3 {
		t.Errorf("name %q, assistant %+v, at once %d", cfg.Name, a, cfg.Limits.Assistants)
	}
	leftOut(t, plan, "Discord", "no channel")
	leftOut(t, plan, "IDLE_TIMEOUT", "milliseconds")
	noted(t, plan, "2 scheduled tasks")
	noted(t, plan, "its own timeout")
	noted(t, plan, "not a plain word")
	noted(t, plan, "ANTHROPIC_API_KEY of .env are not copied")
	noted(t, plan, "ONECLI_URL has no counterpart")
	if strings.Contains(plan.Text+fmt.Sprint(plan), "hunter2") {
		t.Error("a secret of .env was copied")
	}
}

// What is not written into the database yet counts too, and stays where it is.
func TestADatabaseThatIsInUse(t *testing.T) {
	s := newSite(t)
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "store/messages.db")+"?_pragma=journal_mode(wal)")
	s.must(err)
	defer db.Close()
	for _, q := range []string{newSchema, `INSERT INTO registered_groups VALUES ('1@g.us', 'Me', 'me', '@Andy', '', NULL, 0, 0)`} {
		_, err := db.Exec(q)
		s.must(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "store/messages.db-wal")); err != nil {
		t.Fatalf("the test's premise does not hold: %v", err)
	}
	if plan, _ := s.plan(); len(plan.Groups) != 1 {
		t.Errorf("groups %+v", plan.Groups)
	}
}

func TestTheRegistryBeforeThereWasADatabase(t *testing.T) {
	s := newSite(t)
	s.database(`CREATE TABLE chats (jid TEXT)`)
	s.write("nanoclaw/data/registered_groups.json", `{
		"1@g.us": {"name":"Me","folder":"main","trigger":"@Andy","added_at":"x"},
		"2@g.us": {"name":"Family","folder":"family","trigger":"@Andy","added_at":"x","requiresTrigger":false},
		"2@g.us": {"name":"Twice","folder":"twice","trigger":"@Andy","added_at":"x"}}`)
	plan, _ := s.plan()
	want := []nanoclaw.Group{{Name: "Me", Folder: "main", Chat: "1@g.us", Main: true}, {Name: "Family", Folder: "family", Chat: "2@g.us"}}
	if diff := cmp.Diff(want, plan.Groups); diff != "" {
		t.Error(diff)
	}
	leftOut(t, plan, "Twice", "taken by group")
}

func TestHostileRowsAreLeftOut(t *testing.T) {
	s := newSite(t)
	s.database(newSchema,
		`INSERT INTO registered_groups VALUES ('1@g.us', 'up', '..', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('2@g.us', 'slash', 'a/../b', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('3@g.us', 'escape' || char(27) || '[31m', 'escape', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('4@g.us', 'x'||char(10)||'main: true', 'newline', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('../../etc@g.us', 'chat', 'chat', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('5@g.us', 'shared', 'global', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('6@g.us', 'errors', 'ERRORS', '@Andy', '', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('7@g.us', 'good', 'good', '@Andy', '2', NULL, 1, 1)`,
		`INSERT INTO registered_groups VALUES ('8@g.us', 'case', 'GOOD', '@Andy', '3', NULL, 1, 0)`,
		`INSERT INTO registered_groups VALUES ('9@g.us', 'second main', 'other', '@Andy', '4', NULL, 1, 1)`,
		`INSERT INTO registered_groups VALUES (x'ff00', 'bytes', x'fffe', '@Andy', '5', 'no json', 1, 0)`,
		`INSERT INTO registered_groups VALUES ('10@g.us', 'joined '||char(0x1F468,0x200D,0x1F469), 'family', '"], main: true #', '6', '[]', 1, 0)`,
		`INSERT INTO registered_groups VALUES ('11@g.us', printf('%.*c', 500, 'x'), 'long', 'call '||char(0x202e)||' me', '7', NULL, 1, 0)`)
	plan, cfg := s.plan()
	for what, why := range map[string]string{
		"up": "no name of a group", "slash": "no name of a group", "escape": "control characters", "newline": "control characters",
		`"chat"`: "no form", "shared": "reserved", "errors": "reserved", "case": "taken by group", "second main": "taken by group",
		"bytes": "no form", "container configuration of group \"joined": "not JSON",
	} {
		leftOut(t, plan, what, why)
	}
	var folders []string
	for _, g := range cfg.Groups {
		folders = append(folders, g.Folder)
		if strings.ContainsFunc(g.Name+g.Trigger, func(r rune) bool { return r < ' ' || r == 0x202e || r == 0x200d }) || len(g.Name) > 100 {
			t.Errorf("%s is called %q by %q", g.Folder, g.Name, g.Trigger)
		}
	}
	if diff := cmp.Diff([]string{"good", "family", "long"}, folders); diff != "" {
		t.Error(diff)
	}
}

// A group that is wrong by itself does not take one with it that shares its
// folder.
func TestAGoodGroupSurvivesABadOneOfItsFolder(t *testing.T) {
	s := newSite(t)
	s.write("nanoclaw/data/registered_groups.json", `{
		"1@g.us": {"name":"A","folder":"one","trigger":"@A"},
		"2@g.us": {"name":"B","folder":"..","trigger":"@A","isMain":true},
		"3@g.us": {"name":"C","folder":"three","trigger":"@A","isMain":true}}`)
	plan, cfg := s.plan()
	if len(cfg.Groups) != 2 || !cfg.Groups[1].Main {
		t.Errorf("groups %+v; left out %+v", cfg.Groups, plan.LeftOut)
	}
}

// A registry made to be slow: a thousand groups, all of one folder.
func TestManyGroupsOfOneFolder(t *testing.T) {
	s := newSite(t)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"%d@g.us":{"name":"A","folder":"one","trigger":"@A"}`, i+1)
	}
	s.write("nanoclaw/data/registered_groups.json", "{"+b.String()[1:]+"}")
	if plan, _ := s.plan(); len(plan.Groups) != 1 || len(plan.LeftOut) != 999 {
		t.Errorf("%d groups, %d left out", len(plan.Groups), len(plan.LeftOut))
	}
}

func TestMountsAreWhatTheAllowlistAllows(t *testing.T) {
	s := newSite(t)
	for _, dir := range []string{"home/docs/a", "home/photos", "home/secretplans", "home/docs/.ssh", "else/where"} {
		s.must(os.MkdirAll(filepath.Join(s.base, dir), 0o755))
	}
	s.must(os.Symlink("../../else/where", filepath.Join(s.home, "docs/link")))
	s.write("home/.config/nanoclaw/mount-allowlist.json", `{"allowedRoots":[{"path":"~/docs","allowReadWrite":true},{"path":"`+s.home+`/photos"},{"path":"~/secretplans"}],
		"blockedPatterns":["secret"],"nonMainReadOnly":true}`)
	s.write("home/.config/nanoclaw/sender-allowlist.json", `{}`)
	const mounts = `{"additionalMounts":[
		{"hostPath":"~/docs/a","containerPath":"docs","readonly":false},
		{"hostPath":"~/photos","readonly":false},
		{"hostPath":"~/secretplans"},
		{"hostPath":"~/docs/.ssh"},
		{"hostPath":"~/docs/link"},
		{"hostPath":"~/none"},
		{"hostPath":"~/docs","containerPath":"../../etc"},
		{"hostPath":"/","containerPath":"all"}]}`
	s.database(newSchema,
		`INSERT INTO registered_groups VALUES ('1@g.us', 'Me', 'me', '@Andy', '1', '`+mounts+`', 1, 1)`,
		`INSERT INTO registered_groups VALUES ('2@g.us', 'Family', 'family', '@Andy', '2', '`+mounts+`', 1, 0)`)
	plan, cfg := s.plan()
	docs, photos := filepath.Join(s.home, "docs/a"), filepath.Join(s.home, "photos")
	for i, want := range [][]groups.Extra{
		{{Name: "docs", Host: docs, Write: true}, {Name: "photos", Host: photos}},
		{{Name: "docs", Host: docs}, {Name: "photos", Host: photos}},
	} {
		if diff := cmp.Diff(want, cfg.Groups[i].Mounts); diff != "" {
			t.Errorf("%s: %s", cfg.Groups[i].Folder, diff)
		}
	}
	for what, why := range map[string]string{
		"secretplans": "blocks \"secret\"", ".ssh": "blocked", "link": "no root", "none": "does not exist", `"/" of`: "no root", `"~/docs" of`: "not a single name",
	} {
		leftOut(t, plan, what, why)
	}
	noted(t, plan, "sender allowlist")
	noted(t, plan, "read-only, as v1's allowlist has it")
}

func TestWithoutAnAllowlistNothingIsMounted(t *testing.T) {
	s := newSite(t)
	s.database(oldSchema, `INSERT INTO registered_groups VALUES ('1@g.us', 'Me', 'me', '@Andy', '1', '{"additionalMounts":[{"hostPath":"/tmp"}]}')`)
	plan, _ := s.plan()
	leftOut(t, plan, `mount "/tmp"`, "no mount allowlist")
}

func TestWhatIsNoInstallation(t *testing.T) {
	s := newSite(t)
	if _, err := s.read(); !errors.Is(err, nanoclaw.ErrNoGroups) {
		t.Errorf("an empty directory: %v", err)
	}
	s.write("nanoclaw/data/registered_groups.json", `[]`)
	if _, err := s.read(); err == nil || !strings.Contains(err.Error(), "registered_groups.json") {
		t.Errorf("a registry of another form: %v", err)
	}
	s.write("nanoclaw/store/messages.db", "this is no database, and long enough that nobody takes it for an empty one")
	if _, err := s.read(); err == nil || !strings.Contains(err.Error(), "messages.db") {
		t.Errorf("a database that is none: %v", err)
	}
	s.must(os.Remove(filepath.Join(s.dir, "store/messages.db")))
	s.database(`CREATE VIEW registered_groups AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x)
		SELECT n AS jid, n AS name, n AS folder, n AS trigger_pattern, n AS added_at, '' AS container_config FROM x`)
	s.must(os.Remove(filepath.Join(s.dir, "data/registered_groups.json")))
	if _, err := s.read(); !errors.Is(err, nanoclaw.ErrNoGroups) {
		t.Errorf("a view that never ends: %v", err)
	}
}

// TestTasksGoOnByTheClockOfV1: its tasks ran at their hours in UTC.
func TestTasksGoOnByTheClockOfV1(t *testing.T) {
	for name, tt := range map[string]struct{ env, link, want, from string }{
		"its own":     {"TZ=Europe/Berlin\n", "/usr/share/zoneinfo/Asia/Tokyo", "Europe/Berlin", "TZ of .env"},
		"a mark":      {"\ufeffTZ='Europe/Berlin'\r\n", "", "Europe/Berlin", "TZ of .env"},
		"the machine": {"", "../usr/share/zoneinfo/America/Argentina/Ushuaia", "America/Argentina/Ushuaia", "the machine"},
		"an odd one":  {"TZ=:/etc/localtime\n", "/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo", "the machine"},
		"none":        {"", "", "UTC", "no setting"},
		"an odd link": {"", "/etc/motd", "UTC", "no setting"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.database(oldSchema)
			s.write("nanoclaw/.env", tt.env)
			if tt.link != "" {
				s.must(os.Symlink(tt.link, filepath.Join(s.base, "localtime")))
			}
			plan, cfg := s.plan()
			if cfg.Timezone != tt.want {
				t.Errorf("the zone is %q", cfg.Timezone)
			}
			noted(t, plan, "time zone "+tt.want+", from "+tt.from)
		})
	}
}

// TestTokensBecomeNamesInTheFile: the channels had none, and the import did not say so.
func TestTokensBecomeNamesInTheFile(t *testing.T) {
	s := newSite(t)
	s.database(oldSchema, `INSERT INTO registered_groups VALUES ('tg:-100', 'T', 't', '@Andy', '1', NULL)`, `INSERT INTO registered_groups VALUES ('slack:C0123456789', 'S', 's', '@Andy', '2', NULL)`)
	s.write("nanoclaw/.env", "TELEGRAM_BOT_TOKEN=hunter2\nSLACK_BOT_TOKEN=hunter2\nSLACK_APP_TOKEN=hunter2\nDISCORD_BOT_TOKEN=hunter2\nANTHROPIC_API_KEY=hunter2\nGMAIL_CLIENT_SECRET=hunter2\nEMPTY_TOKEN=\n")
	found, err := s.read()
	s.must(err)
	plan, err := found.Plan(s.file)
	s.must(err)
	for _, want := range []string{"  telegram:\n    token: ${TELEGRAM_BOT_TOKEN}\n", "    bot_token: ${SLACK_BOT_TOKEN}\n    app_token: ${SLACK_APP_TOKEN}\n"} {
		if !strings.Contains(plan.Text, want) {
			t.Errorf("no %q in\n%s", want, plan.Text)
		}
	}
	noted(t, plan, "SLACK_APP_TOKEN, SLACK_BOT_TOKEN, TELEGRAM_BOT_TOKEN of .env are not copied")
	noted(t, plan, "DISCORD_BOT_TOKEN, GMAIL_CLIENT_SECRET of .env are not used")
	if strings.Contains(plan.Text+fmt.Sprint(plan), "hunter2") {
		t.Error("a secret of .env was copied")
	}
}
