package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
)

// TestWhatEditorsPutInPlaceOfPlainCharactersIsRead: a mark at the beginning was part of the first key.
func TestWhatEditorsPutInPlaceOfPlainCharactersIsRead(t *testing.T) {
	text := "\ufeffchannels: { web: }\r\ngroups:\r\n\u00a0\u00a0- name:\u00a0Famille\u202fÉté\u200b\r\n    folder: fam\u2060ily\r\n    chat: web:family\u3000\r\n"
	for range 2 {
		cfg, err := config.Parse("longshore.yaml", []byte(text), os.Getenv, platforms())
		if err != nil {
			t.Fatal(err)
		}
		if g := cfg.Groups[0]; g.Name != "Famille Été" || g.Folder != "family" || g.Chat != "web:family" {
			t.Errorf("%+v", g)
		}
		added, err := config.AddGroup([]byte(text), groups.Group{Folder: "b", Chat: "web:b"})
		if err != nil {
			t.Fatal(err)
		}
		text = string(added)
	}
}

func TestWhatCannotBeReadIsRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfen\x00a\x00m\x00e\x00:\x00":                    "not UTF-8",
		"name: “Bee”\n":                                        "begins with “",
		"groups: [ { folder: ‘family’, chat: web:family } ]\n": "begins with ‘",
		"timezone: «UTC»\n":                                    "begins with «",
	} {
		_, err := config.Parse("longshore.yaml", []byte(text), os.Getenv, platforms())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if cfg, err := config.Parse("longshore.yaml", []byte("name: \"“Bee”\"\nchannels: { web: }\n"), os.Getenv, platforms()); err != nil || cfg.Name != "“Bee”" {
		t.Errorf("quotes of its own: %v", err)
	}
}

// TestATokenIsReadAsItWasCopied: with the end of its line, the service refused it.
func TestATokenIsReadAsItWasCopied(t *testing.T) {
	dir := t.TempDir()
	const token = "0123456789abcdef0123456789abcdef"
	for given, want := range map[string]string{
		token + "\r": "", token + "\r\n": "", "\ufeff" + token + "\n": "", "\u00a0" + token + " \u200b": "",
		token[:9] + "\u200b" + token[9:]: "holds U+200B", token[:9] + "\u00a0" + token[9:]: "holds U+00A0", "“" + token + "”": "stands in quotes", "\r\n": "",
	} {
		file := filepath.Join(dir, "token")
		if err := os.WriteFile(file, []byte(given), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"token: \"${T}\"", "token_file: token"} {
			cfg, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte("channels: { web: { "+key+" } }\n"), func(string) string { return given }, platforms())
			err = wrong(cfg, err)
			switch {
			case given == "\r\n":
				if err == nil {
					t.Errorf("%s: an empty token is taken", key)
				}
			case want != "":
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token[:9]) {
					t.Errorf("%s of %q: %v", key, given, err)
				}
			case err != nil:
				t.Errorf("%s of %q: %v", key, given, err)
			case webOf(cfg).Token.Reveal() != token:
				t.Errorf("%s of %q is %q", key, given, webOf(cfg).Token.Reveal())
			}
		}
	}
}
