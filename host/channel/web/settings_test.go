package web_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/setting"
)

// noted is a channel.Checker that keeps the keys that are bad.
type noted struct {
	has map[string]bool
	bad []string
}

func (n *noted) Has(key string) bool                    { return n.has[key] }
func (n *noted) Bad(key, _, _ string)                   { n.bad = append(n.bad, key) }
func (n *noted) Secret(string, *setting.Secret, string) {}

// TestAnAddressForLinksIsOneThatMembersCanFollow: by https alone, and never one that opens
// the page without a token.
func TestAnAddressForLinksIsOneThatMembersCanFollow(t *testing.T) {
	for address, good := range map[string]bool{
		"https://files.example.org": true, "https://files.example.org/": true, "https://files.example.org:8443/away/x-y": true, "": true,
		"http://files.example.org": false, "https://": false, "https:///x": false, "https://u:p@files.example.org": false, "files.example.org": false,
		"https://files.example.org/?x": false, "https://files.example.org?": false, "https://files.example.org#x": false,
		"https://files.example.org/a b": false, "https://files.example.org/(x)": false, "https://files.example.org/_x_": false, "javascript:alert(1)": false,
	} {
		s := web.Platform().Settings().(*web.Settings)
		s.PublicURL = address
		n := &noted{has: map[string]bool{"token": true}}
		s.Check(n)
		if (len(n.bad) == 0) != good {
			t.Errorf("%q: bad are %v", address, n.bad)
		}
		terms, offered := s.Links()
		if offered != (address != "") || strings.HasSuffix(terms.URL, "/") || terms.For != 7*24*time.Hour {
			t.Errorf("%q: %+v, %v", address, terms, offered)
		}
		n.has, n.bad = nil, nil
		if s.Check(n); address != "" && !slices.Contains(n.bad, "public_url") {
			t.Errorf("%q without a token: %v", address, n.bad)
		}
	}
}
