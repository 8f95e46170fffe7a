package push_test

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func withSecret(s push.Settings, url, secret string) push.Settings {
	s.URL, s.Secret = url, setting.NewSecret(secret)
	return s
}

// file is a longshore.yaml with a secret or without.
type file struct {
	secret string // empty: the key is not there
	bad    []string
}

func (f *file) Has(key string) bool                    { return key == "secret" && f.secret != "" }
func (f *file) Bad(key, _, hint string)                { f.bad = append(f.bad, key) }
func (f *file) Secret(string, *setting.Secret, string) {}

func TestSettingsThatCannotWorkAreNamed(t *testing.T) {
	good := withSecret(push.Settings{Listen: "127.0.0.1:8430", MaxFile: 1}, "https://desk.example.org/longshore?to=us", pushtest.Secret())
	for what, tt := range map[string]struct {
		change func(*push.Settings)
		bad    []string
	}{
		"good":                     {func(*push.Settings) {}, nil},
		"http on purpose":          {func(s *push.Settings) { s.URL = "http://10.0.0.5:9000/hook" }, nil},
		"places of files":          {func(s *push.Settings) { s.FilesFrom = []string{"cdn.example", ".s3.example", "http://10.0.0.5:9000"} }, nil},
		"no url":                   {func(s *push.Settings) { s.URL = "" }, []string{"url"}},
		"an url without a host":    {func(s *push.Settings) { s.URL = "https:///x" }, []string{"url"}},
		"an url with a password":   {func(s *push.Settings) { s.URL = "https://u:p@desk.example.org/" }, []string{"url"}},
		"an url for a file":        {func(s *push.Settings) { s.URL = "file:///etc/passwd" }, []string{"url"}},
		"a short secret":           {func(s *push.Settings) { s.Secret = setting.NewSecret("whsec_c2hvcnQ=") }, []string{"secret"}},
		"a secret of another kind": {func(s *push.Settings) { s.Secret = setting.NewSecret("hunter2") }, []string{"secret"}},
		"no port":                  {func(s *push.Settings) { s.Listen = "127.0.0.1" }, []string{"listen"}},
		"a place that is none":     {func(s *push.Settings) { s.FilesFrom = []string{"http://10.0.0.5/path"} }, []string{"files_from"}},
	} {
		set, f := good, &file{secret: "there"}
		tt.change(&set)
		if set.Check(f); !slices.Equal(f.bad, tt.bad) {
			t.Errorf("%s: %v are bad, want %v", what, f.bad, tt.bad)
		}
	}
	f := &file{}
	set := good
	if set.Check(f); !slices.Equal(f.bad, []string{"secret"}) {
		t.Errorf("without a secret: %v are bad", f.bad)
	}
}

func TestTheDoctorSeesBothAddresses(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for what, tt := range map[string]struct {
		change func(*push.Settings)
		want   finding.Severity
		says   string
	}{
		"well":               {func(*push.Settings) {}, finding.Fine, "can be reached"},
		"nobody receives":    {func(s *push.Settings) { s.URL = "http://127.0.0.1:1/" }, finding.Warning, "cannot be reached"},
		"listen is taken":    {func(s *push.Settings) { s.Listen = l.Addr().String() }, finding.Fault, "cannot be taken"},
		"http far from here": {func(s *push.Settings) { s.URL = "http://192.0.2.1.invalid/" }, finding.Warning, "unencrypted"},
	} {
		set := *w.setup.Settings.(*push.Settings)
		tt.change(&set)
		setup := w.setup
		setup.Settings = &set
		got := push.Platform().Examine(t.Context(), setup, false)
		if len(got) == 0 || got[0].Severity != tt.want || !strings.Contains(got[0].Cause, tt.says) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
