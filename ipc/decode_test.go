package ipc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeTakesEveryVariant(t *testing.T) {
	file := func(refs ...FileRef) Request { return Request{Type: TypeFile, Files: refs} }
	tests := []struct {
		name, in string
		want     Request
	}{
		{"a message as v1 writes it",
			`{"type":"message","chatJid":"1@g.us","text":"hi","sender":"Ann","groupFolder":"fam","timestamp":"2026-01-01T00:00:00Z"}`,
			Request{Type: TypeMessage, Chat: "1@g.us", Text: "hi", Sender: "Ann", Folder: "fam", Time: "2026-01-01T00:00:00Z"}},
		{"a file as the plan writes it",
			`{"type":"file","chatJid":"1@g.us","groupFolder":"fam","filePath":"/a","fileName":"b","mimeType":"c/d","caption":"e","timestamp":1}`,
			Request{Type: TypeFile, Chat: "1@g.us", Folder: "fam", Time: "1", Files: []FileRef{{Path: "/a", Name: "b", MIME: "c/d", Caption: "e"}}}},
		{"lower-case spellings", `{"type":"file","filePath":"/a","filename":"b","mimetype":"c"}`, file(FileRef{Path: "/a", Name: "b", MIME: "c"})},
		{"send_file", `{"type":"send_file","filePath":"/a","caption":"e"}`, file(FileRef{Path: "/a", Caption: "e"})},
		{"send_file of a fork that waits for an answer", `{"type":"send_file","filePath":"/a","filename":"b","mimetype":"c","responseFile":"/workspace/ipc/r.json"}`,
			file(FileRef{Path: "/a", Name: "b", MIME: "c"})},
		{"a fork's path and comment", `{"type":"file","path":"/a","filename":"b","comment":"e"}`, file(FileRef{Path: "/a", Name: "b", Caption: "e"})},
		{"a message with paths and a comment", `{"type":"message","files":["/a","/b"],"fileComment":"e"}`,
			file(FileRef{Path: "/a", Caption: "e"}, FileRef{Path: "/b"})},
		{"a message with text, paths and a comment", `{"type":"message","text":"t","files":["/a"],"fileComment":"e"}`,
			file(FileRef{Path: "/a", Caption: "t\n\ne"})},
		{"files staged by a fork", `{"type":"message","files":[{"path":"/a","filename":"b","mimeType":"c"}]}`, file(FileRef{Path: "/a", Name: "b", MIME: "c"})},
		{"send_files", `{"type":"send_files","files":[{"path":"/a","name":"b"}]}`, file(FileRef{Path: "/a", Name: "b"})},
		{"several files with a style for all",
			`{"type":"file","as":"document","replyTo":"m","files":[{"filePath":"/a","as":"voice"},{"filePath":"/b","fileName":"n","caption":"c"}]}`,
			Request{Type: TypeFile, ReplyTo: "m", Files: []FileRef{{Path: "/a", As: "voice"}, {Path: "/b", Name: "n", Caption: "c", As: "document"}}}},
		{"what a picture shows", `{"type":"file","files":[{"filePath":"/a","alt":"a quay"},"/b"]}`, file(FileRef{Path: "/a", Alt: "a quay"}, FileRef{Path: "/b"})},
		{"a thread", `{"type":"file","thread":"t-1","filePath":"/a"}`, Request{Type: TypeFile, Thread: "t-1", Files: []FileRef{{Path: "/a"}}}},
		{"a message with an empty list", `{"type":"message","text":"hi","files":[]}`, Request{Type: TypeMessage, Text: "hi"}},
		{"what a container says of itself is read over", `{"type":"message","text":"hi","isMain":true,"id":7,"createdBy":"x"}`, Request{Type: TypeMessage, Text: "hi"}},
		{"no chat means its own", "\n {\"type\":\"message\",\"text\":\"hi\"} \n", Request{Type: TypeMessage, Text: "hi"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.in))
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			b, err := Encode(got)
			if err != nil {
				t.Fatalf("Encode: %v", err)
			}
			again, err := Decode(b)
			if err != nil {
				t.Fatalf("Decode of %s: %v", b, err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	msg := func(rest string) string { return `{"type":"message","text":"hi"` + rest + `}` }
	tests := []struct{ name, in, code string }{
		{"nothing", "", CodeMalformed},
		{"a list", `[]`, CodeMalformed},
		{"null", `null`, CodeMalformed},
		{"half", `{"type":"mess`, CodeMalformed},
		{"two objects", msg("") + msg(""), CodeMalformed},
		{"rubbish after it", msg("") + "x", CodeMalformed},
		{"a byte order mark", "\ufeff" + msg(""), CodeMalformed},
		{"a comma too many", `{"type":"message","text":"hi",}`, CodeMalformed},
		{"bytes that are no UTF-8", "{\"type\":\"message\",\"text\":\"\xff\"}", CodeMalformed},
		{"a NUL", `{"type":"message","text":"a\u0000b"}`, CodeWrongValue},
		{"a lone surrogate", `{"type":"message","text":"\ud800"}`, CodeWrongValue},
		{"U+FFFD", `{"type":"message","text":"` + "\ufffd" + `"}`, CodeWrongValue},
		{"a NUL in a path of files", `{"type":"file","files":["/a\u0000"]}`, CodeWrongValue},
		{"CVE-2026-27896: another case", msg(`,"CHATJID":"2@g.us"`), CodeUnknownKey},
		{"CVE-2026-27896: a letter that folds", `{"type":"file","filePath":"/a","file\u017f":["/b"]}`, CodeUnknownKey},
		{"an escape sequence as key", msg(`,"\u001b[2J":"x"`), CodeUnknownKey},
		{"chatJid twice", msg(`,"chatJid":"1@g.us","chatJid":"2@g.us"`), CodeDuplicateKey},
		{"an escaped twin", msg(`,"chatJid":"1@g.us","chat\u004aid":"2@g.us"`), CodeDuplicateKey},
		{"a path in a fork's spelling beside ours", `{"type":"file","path":"/a","filePath":"/b"}`, CodeDuplicateKey},
		{"GHSA-jmf9-9729-7pp8: a path under an alias", `{"type":"file","files":[{"path":"/a","filePath":"/b"}]}`, CodeDuplicateKey},
		{"two spellings", `{"type":"file","filePath":"/a","filename":"b","fileName":"c"}`, CodeDuplicateKey},
		{"a file and files", `{"type":"file","filePath":"/a","files":["/b"]}`, CodeConflict},
		{"a name over several files", `{"type":"file","fileName":"a","files":["/b"]}`, CodeConflict},
		{"a message with a file's path", msg(`,"filePath":"/a"`), CodeConflict},
		{"no type", `{"text":"hi"}`, CodeMissing},
		{"omniclaw 1002: another type", `{"type":"send_document","filePath":"/a"}`, CodeUnknownType},
		{"a group without a chat", `{"type":"register_group"}`, CodeMissing},
		{"a type of another time", `{"type":"restart_host"}`, CodeUnknownType},
		{"a reaction to nothing", `{"type":"react","emoji":"x"}`, CodeMissing},
		{"a reaction with a text", `{"type":"react","target":"1","text":"x"}`, CodeConflict},
		{"an edit with a file", `{"type":"edit","target":"1","text":"x","filePath":"/a"}`, CodeConflict},
		{"a message with a target", `{"type":"message","text":"x","target":"1"}`, CodeConflict},
		{"a file with choices", `{"type":"file","filePath":"/a","choices":["a","b"]}`, CodeConflict},
		{"one choice", `{"type":"ask","text":"x","choices":["a"]}`, CodeWrongValue},
		{"the same choice twice", `{"type":"ask","text":"x","choices":["a"," A "]}`, CodeWrongValue},
		{"a choice of two lines", `{"type":"ask","text":"x","choices":["a","b\nc"]}`, CodeWrongValue},
		{"choices that are none", `{"type":"ask","text":"x","choices":"a, b"}`, CodeWrongValue},
		{"a long choice", `{"type":"ask","text":"x","choices":["a","` + strings.Repeat("b", 101) + `"]}`, CodeTooLong},
		{"a question for a week", `{"type":"ask","text":"x","choices":["a","b"],"seconds":604800}`, CodeWrongValue},
		{"half a second", `{"type":"ask","text":"x","choices":["a","b"],"seconds":0.5}`, CodeWrongValue},
		{"several in words", `{"type":"ask","text":"x","choices":["a","b"],"several":"yes"}`, CodeWrongValue},
		{"a schedule of another kind", `{"type":"schedule_task","prompt":"x","schedule_type":"daily","schedule_value":"9"}`, CodeWrongValue},
		{"a task without its prompt", `{"type":"schedule_task","schedule_type":"cron","schedule_value":"9"}`, CodeMissing},
		{"results of another kind", `{"type":"message","text":"x","results":"one"}`, CodeWrongValue},
		{"no text", `{"type":"message","text":" \n"}`, CodeMissing},
		{"no file", `{"type":"file","files":[]}`, CodeMissing},
		{"a file without a path", `{"type":"file","files":[{"name":"x"}]}`, CodeMissing},
		{"null for a text", `{"type":"message","text":null}`, CodeWrongValue},
		{"a number for a text", `{"type":"message","text":1}`, CodeWrongValue},
		{"an object for a chat", msg(`,"chatJid":{"$ne":""}`), CodeWrongValue},
		{"an object for what is read over", msg(`,"id":{}`), CodeWrongValue},
		{"files in files", `{"type":"file","files":[{"path":"/a","files":["/b"]}]}`, CodeUnknownKey},
		{"a list in files", `{"type":"file","files":[["/a"]]}`, CodeWrongValue},
		{"a number in files", `{"type":"file","files":[1]}`, CodeWrongValue},
		{"a text for files", `{"type":"file","files":"/a"}`, CodeWrongValue},
		{"deep nesting", strings.Repeat("[", 60000), CodeMalformed},
		{"deep nesting in files", `{"type":"file","files":` + strings.Repeat("[", 60000), CodeWrongValue},
		{"33 files", `{"type":"file","files":["/a"` + strings.Repeat(`,"/a"`, 32) + `]}`, CodeTooManyFiles},
		{"a long path", `{"type":"file","filePath":"/` + strings.Repeat("a", MaxPath) + `"}`, CodeTooLong},
		{"a long text", `{"type":"message","text":"` + strings.Repeat("a", MaxText+1) + `"}`, CodeTooLong},
		{"a large request", msg(strings.Repeat(" ", MaxRequest)), CodeTooLarge},
		{"an unknown style", `{"type":"file","filePath":"/a","as":"image"}`, CodeUnknownStyle},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.in))
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("Decode: %v, want a refusal", err)
			}
			if r.Code != tt.code {
				t.Errorf("code %s (%s), want %s", r.Code, r.Message, tt.code)
			}
			if r.Hint == "" || strings.ContainsAny(r.Message+r.Hint, "\x1b\x00\n") {
				t.Errorf("unfit words: %q %q", r.Message, r.Hint)
			}
		})
	}
}

func TestDecodeTakes32FilesAndLongestText(t *testing.T) {
	for _, in := range []string{
		`{"type":"file","files":["/a"` + strings.Repeat(`,"/a"`, 31) + `]}`,
		`{"type":"message","text":"` + strings.Repeat("a", MaxText) + `"}`,
		`{"type":"file","filePath":"/` + strings.Repeat("a", MaxPath-1) + `"}`,
	} {
		if _, err := Decode([]byte(in)); err != nil {
			t.Errorf("%.60s…: %v", in, err)
		}
	}
}

func TestTornRequestsAreRefusedAtEveryByte(t *testing.T) {
	whole := `{"type":"file","chatJid":"1@g.us","files":[{"filePath":"/ä\u00e4","as":"voice"},"/b"],"timestamp":12}`
	for i := range len(whole) {
		if _, err := Decode([]byte(whole[:i])); err == nil {
			t.Errorf("%q was taken", whole[:i])
		}
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	for _, r := range []Request{
		{},
		{Type: TypeMessage},
		{Type: TypeMessage, Text: "a\xff"},
		{Type: TypeMessage, Text: strings.Repeat("\n", MaxText)}, // doubles when escaped
		{Type: TypeFile},
		{Type: TypeFile, Files: []FileRef{{}}},
		{Type: TypeFile, Text: "t", Files: []FileRef{{Path: "/a"}}},
		{Type: TypeFile, Files: []FileRef{{Path: "/a", As: "pony"}}},
		{Type: TypeFile, Files: make([]FileRef, 33)},
	} {
		_, err := Encode(r)
		if _, ok := errors.AsType[*Refusal](err); !ok {
			t.Errorf("%.80v: %v, want a refusal", r, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"message","text":"hi","chatJid":"1@g.us"}`))
	f.Add([]byte(`{"type":"file","files":["/a",{"path":"/b","name":"c","as":"gif"}],"caption":"x"}`))
	f.Add([]byte(`{"type":"ask","text":"which?","choices":["a","b"],"several":true,"seconds":600}`))
	f.Add([]byte(`{"type":"schedule_task","prompt":"x","schedule_type":"interval","schedule_value":60000,"context_mode":"isolated"}`))
	f.Add([]byte(`{"type":"react","target":"1","emoji":"👍","results":"batch"}`))
	f.Add([]byte(`{"type":"message","text":"\ud83d\ude00 \u2028","files":[],"id":1e9}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			if _, ok := err.(*Refusal); !ok {
				t.Fatalf("no refusal: %v", err)
			}
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q is no JSON", b)
		}
		again, err := Encode(r)
		if refusal, ok := err.(*Refusal); ok && refusal.Code == CodeTooLarge {
			return // escapes and indentation may pass the limit
		}
		if err != nil {
			t.Fatal(err)
		}
		r2, err := Decode(again)
		if err != nil {
			t.Fatalf("%q: %v", again, err)
		}
		if diff := cmp.Diff(r, r2); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	request := []byte(`{
  "type": "file",
  "chatJid": "120363000000000000@g.us",
  "groupFolder": "family",
  "filePath": "/workspace/group/reports/q3.pdf",
  "fileName": "Report Q3.pdf",
  "mimeType": "application/pdf",
  "caption": "the third quarter",
  "timestamp": "2026-01-01T00:00:00.000Z"
}
`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(request); err != nil {
			b.Fatal(err)
		}
	}
}
