package slack

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

// row is what becomes of a kind or field that Slack's types know.
type row struct{ section, name, outcome, rest string }

func (r row) key() string { return r.section + " " + r.name }

func schema(t *testing.T) map[string]row {
	t.Helper()
	f, err := os.Open("testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]row{}
	for in := bufio.NewScanner(f); in.Scan(); {
		words := strings.Fields(in.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		r := row{words[0], words[1], words[2], strings.Join(words[3:], " ")}
		if _, twice := all[r.key()]; twice {
			t.Errorf("%s has two rows", r.key())
		}
		all[r.key()] = r
	}
	return all
}

// Every kind that Slack's library knows becomes what its row says. One that a newer
// library knows has no row.
func TestEveryKindOfTheLibraryHasARow(t *testing.T) {
	all := schema(t)
	known := map[string][]string{"event": nil, "message": slices.Concat(fieldsOf(slackgo.Message{}), fieldsOf(slackevents.MessageEvent{})), "attachment": fieldsOf(slackgo.Attachment{})}
	for kind := range slackevents.EventsAPIInnerEventMapping {
		known["event"] = append(known["event"], string(kind))
	}
	maps.Copy(known, constants(t, map[string]string{"MsgSubType": "subtype", "MBT": "block", "RTE": "element", "RTSE": "element"}))
	for section, names := range known {
		if len(names) < 20 {
			t.Errorf("the library knows %d of %s", len(names), section)
		}
		for _, name := range names {
			if _, ok := all[section+" "+name]; !ok {
				t.Errorf("%s %s has no row in testdata/schema.txt", section, name)
			}
		}
	}
	for _, r := range all {
		t.Run(r.key(), r.walk)
	}
}

// fieldsOf are the names of a struct's fields in JSON.
func fieldsOf(of any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && (len(f.Index) == 1 || f.Index[0] == 0 && len(f.Index) == 2) {
			names = append(names, name)
		}
	}
	return names
}

// constants are the values of the library's constants, by section. sections has the
// section of each beginning of their names.
func constants(t *testing.T, sections map[string]string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/slack-go/slack").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
				collect(d, sections, all)
			}
		}
	}
	return all
}

func collect(d *ast.GenDecl, sections map[string]string, all map[string][]string) {
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		for i, name := range spec.Names {
			for begin, section := range sections {
				rest, ok := strings.CutPrefix(name.Name, begin)
				if !ok || strings.Trim(rest[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || len(spec.Values) <= i || begin == "RTE" && strings.HasPrefix(rest, "List") && rest != "List" {
					continue
				}
				if value, ok := spec.Values[i].(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(value.Value)
					all[section] = append(all[section], text)
				}
			}
		}
	}
}

const (
	ada  = "U0ADA"
	desk = "C0DESK"
)

// document is an event with something in each field that a row may need.
func document(with map[string]any) []byte {
	o := map[string]any{"type": "message", "channel": desk, "user": ada, "ts": "1700000002.000001"}
	maps.Copy(o, with)
	text, _ := json.Marshal(o)
	return text
}

func read(t *testing.T, with map[string]any) *decode.Event {
	t.Helper()
	e, err := decode.Read(document(with))
	if err != nil {
		t.Fatalf("%s: %v", document(with), err)
	}
	return e
}

// walk holds a row to the decoder.
func (r row) walk(t *testing.T) {
	if r.outcome == "ignored" && r.rest == "" {
		t.Error("it is ignored without a reason")
	}
	was, is := map[string]any{"text": "a"}, map[string]any{"text": "a"}
	switch r.section {
	case "event", "subtype":
		r.comes(t)
		return
	case "message":
		if r.outcome == "ignored" {
			return
		}
		switch r.name {
		case "message", "previous_message":
			was["subtype"], was["message"], was["previous_message"] = "message_changed", map[string]any{"ts": "1700000003.000001", "text": "b"}, map[string]any{"ts": "1700000003.000001", "text": "b"}
		case "deleted_ts":
			was["subtype"], was["deleted_ts"] = "message_deleted", "1700000003.000001"
		case "room":
			was["subtype"], was["user"] = "huddle_thread", decode.Slackbot
		}
		maps.Copy(is, was)
		is[r.name] = json.RawMessage(r.rest)
	case "attachment":
		if r.outcome == "ignored" {
			return
		}
		a := map[string]any{"is_share": true, "text": "b", "title": "t"}
		switch r.name {
		case "is_share", "is_msg_unfurl":
			delete(a, "is_share")
		case "ts":
			a = map[string]any{"is_msg_unfurl": true, "text": "b"}
		}
		was["attachments"] = []any{maps.Clone(a)}
		a[r.name] = json.RawMessage(r.rest)
		is["attachments"] = []any{a}
	default:
		r.shows(t)
		return
	}
	if a, b := read(t, was), read(t, is); reflect.DeepEqual(a, b) {
		t.Errorf("%s is lost", document(is))
	} else if strings.Contains(r.rest, "walked") && !strings.Contains(cmp.Diff(a, b, cmp.AllowUnexported(decode.Event{})), "walked") {
		t.Errorf("%s came in as %+v", document(is), b)
	}
}

// comes holds what comes of an event or a subtype.
func (r row) comes(t *testing.T) {
	with := map[string]any{
		"channel_id": desk, "text": "walked", "reaction": "wave", "deleted_ts": "1700000003.000001",
		"item":    map[string]any{"type": "message", "channel": desk, "ts": "1700000003.000001", "message": map[string]any{"text": "walked"}},
		"message": map[string]any{"ts": "1700000003.000001", "user": ada, "text": "walked"}, "previous_message": map[string]any{"ts": "1700000003.000001", "user": ada, "text": "c"},
		map[string]string{"event": "type", "subtype": "subtype"}[r.section]: r.name,
	}
	e := read(t, with)
	if r.outcome == "ignored" {
		if e != nil {
			t.Errorf("it came in: %+v", e)
		}
		return
	}
	if e == nil {
		t.Fatal("it is lost")
	}
	kind, told := channel.Kind(r.outcome), ""
	switch r.outcome {
	case "message":
		kind = channel.KindMessage
	case "told":
		kind, told = channel.KindMessage, r.name
	}
	if e.Kind != kind || e.Told != told || e.Sender != ada {
		t.Errorf("it came in as %+v", e)
	}
	if words := strings.Contains(e.Text, "walked"); words != (kind.IsMessage() || kind == channel.KindNote || kind == channel.KindEdit) {
		t.Errorf("it came in with %q", e.Text)
	}
}

// shows holds what a block or an element shows.
func (r row) shows(t *testing.T) {
	part := map[string]any{}
	if r.outcome != "ignored" {
		if err := json.Unmarshal([]byte(r.rest), &part); err != nil {
			t.Fatal(err)
		}
	}
	part["type"] = r.name
	blocks := []any{part}
	if r.section == "element" {
		if !strings.HasPrefix(r.name, "rich_text") {
			blocks = []any{map[string]any{"type": "rich_text_section", "elements": blocks}}
		}
		blocks = []any{map[string]any{"type": "rich_text", "elements": blocks}}
	}
	text := read(t, map[string]any{"blocks": blocks}).Text
	want := map[string]string{"mapped": "walked", "told": "[" + r.name + "]", "ignored": channel.NotShown("message")}[r.outcome]
	if r.name == "context_actions" {
		want = "[feedback_buttons]"
	}
	if !strings.Contains(text, want) {
		t.Errorf("%v shows %q, want %q", part, text, want)
	}
}

// A description in a description was read twice at each level: a message of a kilobyte
// occupied the host for a minute.
func TestNestedDescriptionsAreReadOnce(t *testing.T) {
	var part any = map[string]any{"type": "image", "slack_file": map[string]any{"id": "F1"}}
	for range 12 {
		part = map[string]any{"type": "new", "description": part}
	}
	if e := read(t, map[string]any{"blocks": []any{part}}); len(e.Uploads) != 1 {
		t.Errorf("the one file is there %d times", len(e.Uploads))
	}
}
