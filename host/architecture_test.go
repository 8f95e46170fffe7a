package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/longshore-bridge/longshore"

// rooms is the architecture: which package of ours may import which, test
// files included only where they say so below. A package that is missing here
// has no place in the design yet. "x/..." stands for a room with all below it.
var rooms = map[string][]string{
	"internal/browsertest": {},
	"internal/fstest":      {"internal/refusal"},
	"internal/need":        {},
	"internal/pgtest":      {"internal/need"},
	"internal/npmtest":     {},
	"internal/s3test":      {},
	"internal/refusal":     {},
	"internal/safefs":      {},
	"internal/confine":     {},
	"internal/near":        {},
	"internal/cache":       {},
	"internal/wake":        {},
	"internal/cause":       {},
	"internal/finding":     {},
	"packaging/sbom":       {},
	"packaging/deb":        {"host/service", "host/runtime/containertest"},
	"packaging/image":      {},

	"media":         {},
	"media/...":     {},
	"ipc":           {"media"},
	"ipc/spool":     {"ipc", "media"},
	"groups":        {"media", "host/setting"},
	"groups/mounts": {"groups", "media"},

	"agentrunner":              {"agentrunner/cli"},
	"agentrunner/...":          {"agentrunner/...", "ipc", "media", "internal/cause"},
	"host/config":              {"host/keys", "host/channel", "host/httpd", "host/screen", "host/setting", "groups", "groups/mounts", "internal/near", "media"},
	"host/postgres":            {},
	"host/cluster":             {"host/cluster/guard", "host/postgres"},
	"host/cluster/guard":       {},
	"host/standby":             {"host/cluster", "host/config", "host/httpd", "host/operator", "host/upkeep", "groups"},
	"host/store":               {"host/postgres"},
	"host/setting":             {},
	"host/screen":              {"media"},
	"host/screen/...":          {},
	"host/audit":               {"host/state", "media"},
	"host/httpd":               {"host/store", "media"},
	"host/blob":                {"host/store", "media"},
	"host/blob/s3":             {"host/blob"},
	"host/state":               {"host/blob", "host/store"},
	"host/state/statetest":     {"host/postgres", "host/state", "host/store"},
	"host/channel":             {"host/setting", "host/state", "host/store", "groups", "media"},
	"host/channel/transfer":    {"host/channel", "media"},
	"host/channel/...":         {"host/channel", "host/setting", "host/state", "host/channel/transfer", "host/channel/pace", "host/channel/link", "host/channel/journal", "host/channel/bot", "host/channel/webapi", "host/httpd", "host/channel/markup", "host/channel/emoji", "host/blob", "host/store", "groups", "media", "media/...", "internal/confine"},
	"host/outbox":              {"host/outbox/changes", "host/outbox/records", "host/blob", "host/channel", "host/channel/ladder", "host/state", "host/store", "groups", "media"},
	"host/outbox/changes":      {},
	"host/outbox/records":      {"host/blob", "host/channel", "host/state", "host/store", "groups", "media"},
	"host/bridge":              {"host/bridge/report", "host/audit", "host/outbox", "host/outbox/records", "host/screen", "host/channel", "host/channel/markup", "host/channel/emoji", "ipc", "ipc/spool", "groups", "groups/mounts", "media", "media/convert", "media/probe", "internal/confine"},
	"host/bridge/report":       {"host/audit", "host/outbox/records", "ipc", "ipc/spool", "media"},
	"host/runtime":             {"groups", "groups/mounts", "ipc", "internal/cause"},
	"host/runtime/...":         {"agentrunner/sshside", "host/runtime", "host/runtime/...", "groups", "groups/mounts", "ipc", "internal/cause"},
	"host/runtime/ssh":         {"agentrunner/sshside", "host/runtime", "host/runtime/feed", "internal/cause"},
	"host/runtime/feed":        {"agentrunner/agent", "agentrunner/sshside", "host/runtime", "groups/mounts", "ipc"},
	"host/runtime/ssh/sshtest": {},
	"host/inbound":             {"host/state", "groups/mounts", "host/channel", "groups", "ipc", "media"},
	"host/turns":               {"host/inbound", "host/state", "groups/mounts", "host/channel", "host/runtime", "groups", "ipc", "media", "internal/cause"},
	"host/move":                {"host/audit", "host/blob", "host/state", "host/store"},
	"host/backup":              {"host/move", "host/state", "host/blob", "host/store", "groups", "media"},
	"host/tasks":               {"host/state", "host/store", "groups", "ipc", "media"},
	"host/nanoclaw":            {"media", "host/config", "host/channel", "groups", "groups/mounts"},
	"host/transcribe":          {"media", "media/probe", "media/convert", "internal/confine"},
	"host/keys":                {"host/httpd", "host/state", "host/store"},
	"host/links":               {"host/httpd", "host/state", "host/store"},
	"host/remote":              {"host/remote/...", "agentrunner/sender", "agentrunner/tools", "host/httpd", "host/state", "host/store", "groups", "ipc", "ipc/spool", "media"},
	"host/remote/calls":        {"host/remote/tokens", "host/httpd", "host/state", "host/store", "ipc"},
	"host/remote/gate":         {"host/httpd"},
	"host/remote/tokens":       {"host/httpd", "host/state", "host/store", "groups"},
	"host/remote/intake":       {"host/httpd"},
	"host/service":             {},
	"host/operator":            {"host/cluster", "host/httpd", "host/turns", "host/audit", "host/tasks", "host/remote/tokens", "host/outbox", "host/outbox/records", "host/channel", "host/store", "groups", "groups/mounts", "ipc", "ipc/spool", "media", "internal/cause"},
	"host/notify":              {"host/config", "host/operator", "host/state", "host/httpd", "host/channel/transfer", "media"},
	"host/console":             {"host/audit", "host/turns", "host/operator", "host/tasks", "host/httpd"},
	"host/doctor":              {"host/audit", "host/httpd", "host/turns", "host/config", "host/engines", "host/operator", "host/outbox", "host/channel", "host/runtime/docker", "host/runtime/ssh", "host/store", "groups", "groups/mounts", "ipc", "media", "internal/confine", "internal/cause"},
	"host/engines":             {"host/config", "host/runtime", "host/runtime/docker", "host/runtime/ssh", "host/state", "host/store", "host/turns", "groups", "internal/cause"},
	"host/live":                {"host/config", "host/channel", "host/keys", "host/outbox", "host/runtime", "host/screen", "ipc", "ipc/spool", "groups", "groups/mounts"},
	"host/upkeep":              {},
	"host/serve":               {"host/...", "agentrunner/cli", "ipc", "ipc/spool", "groups", "groups/mounts", "media", "media/convert", "internal/confine", "internal/cause"},
	"host/command/terminal":    {"media", "internal/near"},
	"host/command/member":      {"host/channel/web/history"},
	"host/command/pairpage":    {"host/channel", "host/httpd"},
	"host/command":             {"host/...", "agentrunner/...", "ipc", "ipc/spool", "groups", "groups/mounts", "media", "internal/near", "internal/confine", "internal/cause"},
	"host":                     {"host/command", "groups", "host/channel", "host/channel/...", "internal/confine"},

	"e2e/...": {"e2e/stage", "host/...", "agentrunner/...", "ipc", "ipc/spool", "groups", "groups/...", "media", "media/...", "internal/..."},

	"host/channel/pace":        {"groups"},
	"host/channel/ladder":      {"host/channel", "media"},
	"host/channel/link":        {"host/channel"},
	"host/channel/bot":         {"media", "host/channel", "host/channel/journal", "host/channel/link", "host/channel/pace", "host/channel/transfer", "host/channel/webapi", "groups"},
	"host/channel/webapi":      {"media", "host/channel", "host/channel/link", "host/channel/transfer"},
	"host/channel/markup":      {"media"},
	"host/channel/journal":     {"host/channel", "host/state", "host/store", "groups"},
	"host/channel/channeltest": {"host/channel", "host/channel/ladder", "host/channel/memory", "groups", "media"},
	"media/probe":              {"media", "internal/confine"},
	"media/convert":            {"media", "internal/confine"},

	"host/channel/web":         {"host/channel/web/...", "host/channel", "host/channel/transfer", "host/channel/journal", "host/channel/link", "host/httpd", "host/channel/markup", "host/channel/emoji", "host/setting", "host/state", "host/store", "host/blob", "groups", "media"},
	"host/channel/web/assets":  {"host/httpd"},
	"host/channel/web/history": {"host/channel", "host/channel/journal", "host/channel/markup", "host/blob", "host/state", "host/store", "groups", "media", "media/probe"},
	"host/channel/web/session": {"host/channel/web/assets", "host/httpd", "host/state", "host/store"},
	"host/channel/web/webpush": {"host/channel/web/session", "host/httpd", "host/channel/transfer", "host/state", "host/store", "media"},

	"host/channel/slack":        {"host/channel/slack/decode", "host/channel", "host/channel/bot", "host/channel/emoji", "host/channel/journal", "host/channel/link", "host/channel/pace", "host/channel/transfer", "host/channel/webapi", "host/setting", "groups", "media"},
	"host/channel/slack/decode": {"host/channel", "host/channel/bot", "groups", "media"},

	"host/channel/whatsapp":             {"host/channel/whatsapp/compose", "host/channel/whatsapp/decode", "host/channel/whatsapp/device", "host/channel/whatsapp/directory", "host/channel/whatsapp/librarylog", "host/channel/whatsapp/mediaserver", "host/channel/whatsapp/messages", "host/channel/whatsapp/outcome", "host/channel", "host/channel/transfer", "host/channel/pace", "host/channel/link", "host/channel/journal", "host/state", "host/store", "groups", "media", "media/...", "internal/confine"},
	"host/channel/whatsapp/compose":     {"host/channel", "media", "media/probe"},
	"host/channel/whatsapp/decode":      {"host/channel", "media"},
	"host/channel/whatsapp/device":      {"host/channel/whatsapp/librarylog", "host/store"},
	"host/channel/whatsapp/directory":   {"host/channel/whatsapp/decode", "host/channel/whatsapp/outcome", "host/channel", "host/channel/link", "groups"},
	"host/channel/whatsapp/librarylog":  {"media"},
	"host/channel/whatsapp/mediaserver": {"host/channel/whatsapp/compose", "host/channel/whatsapp/outcome", "host/channel", "host/channel/link", "host/channel/transfer", "media"},
	"host/channel/whatsapp/messages":    {"host/channel/whatsapp/compose", "host/channel/whatsapp/decode", "host/channel/whatsapp/directory", "host/channel/journal", "groups"},
	"host/channel/whatsapp/outcome":     {"host/channel", "host/channel/link"},

	"host/channel/whatsapp/whatsapptest":         {"host/channel/whatsapp/whatsapptest/..."},
	"host/channel/whatsapp/whatsapptest/baileys": {"host/channel/whatsapp/whatsapptest"},
	"host/channel/whatsapp/whatsapptest/wire":    {},
}

// floor is what every room but those of internal/ may import.
var floor = []string{"internal/cache", "internal/finding", "internal/refusal", "internal/safefs", "internal/wake"}

// TestArrows reads every import with go/parser: the answer of the go command
// could come from its cache.
func TestArrows(t *testing.T) {
	for dir, files := range packages(t) {
		allowed, ok := allowedFor(dir)
		if !ok {
			t.Errorf("%s is no room of the design: add it to the table with what it may import", dir)
			continue
		}
		if !strings.HasPrefix(dir, "internal/") {
			allowed = slices.Concat(floor, allowed)
		}
		for _, file := range files {
			for _, imported := range imports(t, filepath.Join("..", dir, file)) {
				if !matches(allowed, imported) && !((strings.HasSuffix(file, "_test.go") || slices.Contains(forTests, dir)) && testMay(dir, imported)) {
					t.Errorf("%s/%s imports %s; %s may import only %v", dir, file, imported, dir, allowed)
				}
			}
		}
	}
}

// TestAgentrunnerLinksNoSSH asks the go command, since a library could bring it.
func TestAgentrunnerLinksNoSSH(t *testing.T) {
	out, err := exec.Command("go", "list", "-buildvcs=false", "-deps", "../agentrunner", "./runtime/ssh").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "golang.org/x/crypto/ssh\n") {
		t.Fatal("go list does not name the library under this name any more")
	}
	if out, err = exec.Command("go", "list", "-buildvcs=false", "-deps", "../agentrunner").Output(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "golang.org/x/crypto/ssh") {
		t.Error("agentrunner links golang.org/x/crypto/ssh")
	}
}

// TestNothingCallsMethodsByName: where a program calls a method by a name that the linker
// cannot know, the linker keeps each exported method of each type. Templates do so, and made
// longshore larger by a fifth: 44.8 MB instead of 36.2. A library may name their types, as the
// ones below do, and may call them in functions that nothing here calls.
func TestNothingCallsMethodsByName(t *testing.T) {
	named := []string{"html/template", "github.com/spf13/cast", "github.com/spf13/cobra"}
	out, err := exec.Command("go", "list", "-buildvcs=false", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, ".", "../agentrunner").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		if (slices.Contains(imports[1:], "text/template") || slices.Contains(imports[1:], "html/template")) && !slices.Contains(named, imports[0]) {
			t.Errorf("%s imports templates; httpd.Fill fills a page", imports[0])
		}
	}
	calls := regexp.MustCompile(`\.(Set(Usage|Help|Version)Template|MethodByName)\(`) // the first three of cobra
	for dir, files := range packages(t) {
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join("..", dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if call := calls.Find(text); call != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s/%s calls %s…)", dir, file, call)
			}
		}
	}
}

// TestTheDrawingIsTheHouse compares the floors that docs/architecture.md draws
// with the imports: every room stands on one floor, and imports only from the
// floors below it. "x/…" stands for x with all below it. Rooms that only tests
// use are not drawn.
func TestTheDrawingIsTheHouse(t *testing.T) {
	floorOf := map[string]int{}
	for i, line := range drawing(t) {
		for _, room := range strings.Fields(line) {
			floorOf[room] = i
		}
	}
	drawn := func(dir string) (room string) {
		if _, ok := floorOf[dir]; ok {
			return dir
		}
		for up := dir; up != "."; up = path.Dir(up) {
			if _, ok := floorOf[up+"/…"]; ok {
				return up + "/…"
			}
		}
		return ""
	}
	for dir, files := range packages(t) {
		if slices.Contains(forTests, dir) || strings.HasPrefix(dir, "e2e/") {
			continue
		}
		from := drawn(dir)
		if from == "" {
			t.Errorf("%s is not in the drawing of docs/architecture.md", dir)
			continue
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, imported := range imports(t, filepath.Join("..", dir, file)) {
				if to := drawn(imported); to != from && floorOf[to] <= floorOf[from] {
					t.Errorf("%s/%s imports %s, which the drawing of docs/architecture.md does not show below it", dir, file, imported)
				}
			}
		}
	}
}

// forTests are the rooms that only tests use.
var forTests = []string{
	"internal/browsertest", "internal/fstest", "internal/need", "internal/npmtest", "internal/pgtest", "internal/s3test", "media/probe/probetest",
	"agentrunner/agent/modeltest", "host/runtime/containertest", "host/runtime/ssh/sshtest",
	"host/channel/channeltest", "host/channel/memory", "host/channel/whatsapp/whatsapptest", "host/channel/whatsapp/whatsapptest/baileys", "host/channel/whatsapp/whatsapptest/wire", "host/channel/push/pushtest", "host/channel/slack/slacktest", "host/channel/discord/discordtest",
	"host/channel/telegram/telegramtest", "host/screen/screentest", "host/state/statetest",
}

// drawing is the block of docs/architecture.md that draws the floors.
func drawing(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(text), "```floors\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !ok || !closed {
		t.Fatal("docs/architecture.md draws no floors")
	}
	return strings.Split(block, "\n")
}

// TestEveryPackageSaysWhatItIsFor wants a package comment of at least a sentence.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for dir, files := range packages(t) {
		if !slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") }) {
			continue
		}
		if !slices.ContainsFunc(files, func(f string) bool { return documented(t, filepath.Join("..", dir, f)) }) {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// testMay lists what tests, and rooms that only tests use, may import beyond
// their room: need, the state, itself, the platform's loopback server below it (x/xtest) and its parts, for the
// host the conformance suite, the channels, the channel in memory, a browser and
// npm, and for agentrunner its own rooms and the queue.
func testMay(dir, imported string) bool {
	if imported == "internal/need" || imported == "internal/pgtest" || strings.HasPrefix(dir, "host/") && strings.HasPrefix(imported+"/", "host/state/") || strings.HasPrefix(dir+"/", "host/command/") && imported == "e2e/stage" {
		return true
	}
	if dir == "host" { // what each platform plays, against ffmpeg
		return matches([]string{"host/setting", "media", "media/..."}, imported) || path.Dir(imported) == "host/channel"
	}
	if dir == "agentrunner" {
		return matches([]string{"agentrunner/...", "ipc", "media"}, imported)
	}
	if server := dir + "/" + path.Base(dir) + "test"; imported == dir || imported == server || strings.HasPrefix(imported, server+"/") {
		return true
	}
	if imported == "internal/fstest" || dir == "host/engines" && imported == "host/runtime/containertest" || (dir == "media/convert" || dir == "host/command") && imported == "media/probe/probetest" {
		return true
	}
	if !strings.HasPrefix(dir+"/", "host/") {
		return false
	}
	return path.Dir(imported) == "host/channel" || slices.Contains([]string{"internal/browsertest", "internal/npmtest", "internal/s3test", "host/setting", "host/screen/screentest", "host/state/statetest"}, imported)
}

func allowedFor(dir string) ([]string, bool) {
	if a, ok := rooms[dir]; ok {
		return a, true
	}
	for up := path.Dir(dir); up != "."; up = path.Dir(up) {
		if a, ok := rooms[up+"/..."]; ok {
			return a, true
		}
	}
	return nil, false
}

func matches(allowed []string, imported string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		root, deep := strings.CutSuffix(a, "/...")
		return imported == root || (deep && strings.HasPrefix(imported, root+"/"))
	})
}

// packages maps each directory with Go files, relative to the module's root,
// to the names of those files.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(p, ".go") {
			found[path.Dir(p)] = append(found[path.Dir(p)], path.Base(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// imports returns the file's imports of this module, relative to its root.
func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, spec := range f.Imports {
		if rel, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok {
			ours = append(ours, rel)
		}
	}
	return ours
}

func documented(t *testing.T, file string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc != nil && strings.Contains(f.Doc.Text(), ".")
}
