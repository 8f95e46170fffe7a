package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/host/setting"
)

const letters = "aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9"

// valuesOf has a value of the form of each secret of the configuration. formless are those that the
// operator makes up: only the host's own value is found.
var (
	valuesOf = map[string]string{
		"assistants.env.ANTHROPIC_API_KEY": "sk-" + "ant-api03-" + letters,
		"notify.webhook.secret":            "whsec" + "_" + letters[:44],
		"notify.ntfy.token":                "tk" + "_" + strings.ToLower(letters)[:29],
		"transcription.key":                "sk-" + "proj-" + letters,
		"channels.web.token":               "0123456789abcdef0123456789abcdef",
		"channels.push.secret":             "whsec" + "_" + letters[:44],
		"channels.slack.bot_token":         "xoxb" + "-1234567890-1234567890-" + letters[:24],
		"channels.slack.app_token":         "xapp" + "-1-A0123456789-1234567890-" + letters[:40],
		"channels.telegram.token":          "1234567890" + ":AA" + letters[:33],
		"channels.discord.bot_token":       "MTIzNDU2Nzg5MDEyMzQ1Njc4" + "." + letters[:6] + "." + letters[:38],
	}
	formless = []string{"channels.web.token"}
)

// eachSecret calls set with each field for a secret in v, by its key. Slices and maps get an element.
func eachSecret(key string, v reflect.Value, set func(key string) string) {
	switch {
	case v.Type() == reflect.TypeFor[setting.Secret]():
		v.Set(reflect.ValueOf(setting.NewSecret(set(key))))
	case v.Type() == reflect.TypeFor[config.Channels]():
		var all config.Channels
		for _, p := range platforms() {
			settings := p.Settings()
			eachSecret(key+"."+p.Key(), reflect.ValueOf(settings).Elem(), set)
			all = append(all, config.Channel{Name: p.Key(), Platform: p, Settings: settings})
		}
		v.Set(reflect.ValueOf(all))
	case v.Kind() == reflect.Struct:
		for field, value := range v.Fields() {
			if tag := field.Tag.Get("yaml"); tag != "" && tag != "-" && field.IsExported() {
				eachSecret(strings.TrimPrefix(key+"."+tag, "."), value, set)
			}
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		eachSecret(key, v.Index(0), set)
	case v.Kind() == reflect.Map:
		name := "claude"
		if v.Type().Elem() == reflect.TypeFor[setting.Secret]() {
			name = "ANTHROPIC_API_KEY"
			key += "." + name
		}
		element := reflect.New(v.Type().Elem()).Elem()
		eachSecret(key, element, set)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	}
}

// TestTheScreenDidNotKnowTheHostsOwnSecrets walks every field for a secret, of the file and of the
// channels: a value of its form is found, whatever the configuration is, and the host's own value too.
func TestTheScreenDidNotKnowTheHostsOwnSecrets(t *testing.T) {
	plain, err := screen.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cfg config.Config
	seen := map[string]bool{}
	eachSecret("", reflect.ValueOf(&cfg).Elem(), func(key string) string {
		if seen[key] = true; valuesOf[key] == "" {
			t.Errorf("%s has no value here: add one of its form to valuesOf, and a rule to host/screen", key)
		}
		return valuesOf[key]
	})
	cfg.Screen = config.Screen{}
	all, _, err := cfg.Screens()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range valuesOf {
		if !seen[key] {
			t.Errorf("there is no secret at %s", key)
		}
		text := "it is " + value + "\n"
		if err := plain.Check(strings.NewReader(text), int64(len(text)), "a.txt"); (err == nil) != (key == formless[0]) {
			t.Errorf("%s, of its form: %v", key, err)
		}
		if err := all.Check(strings.NewReader(text), int64(len(text)), "a.txt"); err == nil {
			t.Errorf("%s, the host's own: it leaves", key)
		}
	}
}

// TestAWordOfTheEnvironmentKeptFilesIn: only variables that a key may stand in are secrets.
func TestAWordOfTheEnvironmentKeptFilesIn(t *testing.T) {
	secret := setting.NewSecret("a-value-of-some-letters")
	for name, leaves := range map[string]bool{"LONGSHORE_MODEL": true, "OPENAI_BASE_URL": true, "AUTHOR": true, "MISTRAL_API_KEY": false, "DB_PASSWORD": false, "GITHUB_TOKEN": false} {
		cfg := config.Config{Assistants: map[string]config.Assistant{"a": {Env: map[string]config.Secret{name: secret}}}}
		rules, _, err := cfg.Screens()
		if err != nil {
			t.Fatal(err)
		}
		if err := rules.Check(strings.NewReader(secret.Reveal()), 23, "a.txt"); (err == nil) != leaves {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProviderToolsOfTheFile(t *testing.T) {
	schema := validator(t)
	for text, want := range map[string]config.ProviderTools{
		"true": {All: true}, "false": {}, "{allow: [web_search_options]}": {Allow: []string{"web_search_options"}}, "{allow: []}": {Allow: []string{}},
	} {
		cfg, err := config.Parse("longshore.yaml", []byte("assistants: {a: {provider_tools: "+text+"}}"), func(string) string { return "" }, platforms())
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := cfg.Assistants["a"].ProviderTools; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
		if err := schema.Validate(decodeYAML(t, "assistants: {a: {provider_tools: "+text+"}}")); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"yes": "neither true nor false", "{allowed: [x]}": "unknown key", "{allow: ['a b']}": "no name of a key", "[x]": "expected here", "{allow: x}": "expected here",
	} {
		if _, err := config.Parse("longshore.yaml", []byte("assistants: {a: {provider_tools: "+text+"}}"), func(string) string { return "" }, platforms()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
