package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
)

const docs = "../../docs/configuration.md"

// Every key is in the manual, and so is every code.
func TestManualHasEveryKeyAndCode(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, key := range schemaKeys(readSchema(t)) {
		if !regexp.MustCompile("[`.]" + regexp.QuoteMeta(key) + "[`:.]").MatchString(text) {
			t.Errorf("the manual does not have the key %q", key)
		}
	}
	for _, code := range []string{
		groups.CodeBadJID, groups.CodeChatNotAllowed, groups.CodeChatUnknown, groups.CodeGroupUnknown, mounts.CodeBadPath, mounts.CodePathEscapes,
		mounts.CodeNotMounted, mounts.CodePathShadowed, mounts.CodeMountMissing, mounts.CodeFileMissing, mounts.CodeFileEmpty, mounts.CodeNotAFile,
		mounts.CodeHardLink, mounts.CodeOtherDevice, mounts.CodeUnreadable, mounts.CodeFileBusy,
	} {
		if !strings.Contains(text, "`"+code+"`") {
			t.Errorf("the manual does not have the code %s", code)
		}
	}
}

func schemaKeys(n node) []string {
	var keys []string
	for key, property := range n.Properties {
		keys = append(append(keys, key), schemaKeys(property)...)
	}
	if n.Items != nil {
		keys = append(keys, schemaKeys(*n.Items)...)
	}
	return keys
}

// The manual's examples are right, but for what their reader's machine has and
// this one lacks.
func TestManualsExamplesParse(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(blocks) < 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	schema := validator(t)
	for i, block := range blocks {
		_, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(block[1]), func(name string) string { return "value of " + name }, platforms())
		if err != nil {
			for _, p := range problems(t, err) {
				if !strings.Contains(p.Message, "is no directory") && !strings.Contains(p.Message, "cannot be read") {
					t.Errorf("example %d: %v", i+1, p)
				}
			}
		}
		if err := schema.Validate(decodeYAML(t, block[1])); err != nil {
			t.Errorf("example %d: the schema refuses it: %v", i+1, err)
		}
	}
}
