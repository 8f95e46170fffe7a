package pairpage

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
)

// The page was cut off in the middle of the answer that said "linked", and told
// the operator that the command had ended.
func TestThePairingPageHearsTheEndBeforeTheCommandGoes(t *testing.T) {
	p, err := Open(channel.Account{Pair: "link this host to an account", Scan: "scan the code"}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.paired, p.asked = true, time.Now() // the account is linked, a browser has the page open
	inner := p.srv.Handler
	p.srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		for { // the answer leaves when this returns: not before the page is closing
			c, err := net.Dial("tcp", r.Host)
			if err != nil {
				return
			}
			c.Close()
		}
	})
	var code struct{ Paired bool }
	heard := make(chan error, 1)
	go func() {
		resp, err := http.Get(p.URL + "code")
		if err == nil {
			defer resp.Body.Close()
			err = json.NewDecoder(resp.Body).Decode(&code)
		}
		heard <- err
	}()
	p.Done()
	p.Close()
	if err := <-heard; err != nil || !code.Paired {
		t.Fatalf("the page heard %+v, %v", code, err)
	}
}

// TestThePairingPageIsServedWhereTheOperatorSays, for a browser on another machine.
func TestThePairingPageIsServedWhereTheOperatorSays(t *testing.T) {
	listen := stage.FreeAddress(t)
	p, err := Open(channel.Account{Pair: "link this host to an account", Scan: "scan the code"}, listen)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for url, want := range map[string]int{p.URL: http.StatusOK, "http://" + listen + "/": http.StatusNotFound} {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", url, resp.Status)
		}
	}
}
