package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestTheListOfChatsIsAskedForStrictly(t *testing.T) {
	s := start(t, options(t.TempDir()))
	m := s.say("one")
	s.say("two")
	for query, want := range map[string]string{
		"?read=family:" + m.ID: "1", "?read=family:0": "2", "?read=family:nothing": "none", "": "none", "?read=gone:1": "none",
		"?read=family": "bad_read", "?read=..:1": "bad_read", "?read=family:%00": "bad_read", "?" + strings.Repeat("read=a:1&", 501): "bad_read",
	} {
		res, b := s.do("GET", "/api/chats"+query, nil)
		var out struct {
			Chats []struct {
				Unread *int
				Last   *struct{ From, Text string }
			}
			Error struct{ Code string }
		}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		got := out.Error.Code
		if res.StatusCode == http.StatusOK {
			got = "none"
			if n := out.Chats[0].Unread; n != nil {
				got = fmt.Sprint(*n)
			}
			if out.Chats[0].Last.Text != "two" || out.Chats[1].Last != nil {
				t.Errorf("%s: %s", query, b)
			}
		}
		if got != want {
			t.Errorf("%.40s: %s, want %s", query, got, want)
		}
	}
}
