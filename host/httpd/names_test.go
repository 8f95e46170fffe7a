package httpd

import (
	"net/http"
	"testing"
)

func TestAServerAnswersToItsOwnNamesOnly(t *testing.T) {
	own := NamesOf("192.0.2.7:80", "Chat.example:8443", "other.example", "")
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:1": true, "127.0.0.1:8420": true, "127.9.9.9": true, "[::1]:8420": true, "::1": true, "[::ffff:127.0.0.1]": true,
		"192.0.2.7": true, "192.0.2.7:81": true, "chat.example": true, "CHAT.example:1": true, "other.example:9": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "chat.example.": false,
		"192.0.2.8": false, "[2001:db8::1]:80": false, "chat.example:80:80": false, "::": false,
	} {
		if own.Has(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
	every := NamesOf("0.0.0.0:80")
	for host, want := range map[string]bool{"192.0.2.8:80": true, "[2001:db8::1]": true, "evil.example": false, "192.0.2.8.evil.example": false} {
		if every.Has(host) != want {
			t.Errorf("on every interface, %q: %t", host, !want)
		}
	}
	var none Names
	if none.Has("chat.example") || !none.Has("127.0.0.1:1") {
		t.Error("the zero Names are not loopback's")
	}
}

func TestAnotherSitesRequestIsForeign(t *testing.T) {
	for site, want := range map[string]bool{"": false, "none": false, "same-origin": false, "same-site": true, "cross-site": true, "new": true} {
		if foreign(&http.Request{Header: http.Header{"Sec-Fetch-Site": {site}}}) != want {
			t.Errorf("%q: %t", site, !want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"localhost:1", "[::1]:80", "evil.example", "127.0.0.1.", "[", "]:", ":80", "a:b:c", "%31"} {
		f.Add(seed)
	}
	own := NamesOf("0.0.0.0:80", "chat.example")
	f.Fuzz(func(t *testing.T, host string) {
		// A name that can be rebound has a letter of a name, and is not ours.
		if own.Has("x"+host+".evil.example") || own.Has(host+".evil.example:80") {
			t.Errorf("%q", host)
		}
	})
}
