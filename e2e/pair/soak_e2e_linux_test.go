//go:build e2e

package pair

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// soakEnv is how long the soak takes, as "10m". Without it, it is 30 seconds.
const soakEnv = "LONGSHORE_TEST_SOAK"

// TestASoakOfAPairLosesNothing has assistants on all platforms send texts while hosts end in every way,
// their way to PostgreSQL is slow or gone, PostgreSQL crashes, the configuration is reloaded and the platforms
// fail, at random. In the end members see each text once and in order.
func TestASoakOfAPairLosesNothing(t *testing.T) {
	long := 30 * time.Second
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &soak{pair: newPairOn(t, pgtest.Start(t), newWholeSea(t), wholeLease), random: rand.New(rand.NewPCG(seed, 0)), did: map[string]int{}}
	s.begin()
	under := s.streams()
	for over := time.Now().Add(long); time.Now().Before(over) && !t.Failed(); {
		s.trouble()
	}
	owner, _ := s.settled()
	under.moved(t)
	s.all(under, owner)
	t.Logf("soak of %v: %s; a host owned again after %v at most", long, s.sums(), s.slowest)
}

// soak is a pair in trouble.
type soak struct {
	*pair
	random  *rand.Rand
	did     map[string]int
	slowest time.Duration
}

func (s *soak) sums() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(s.did)) {
		all = append(all, fmt.Sprintf("%d × %s", s.did[what], what))
	}
	return strings.Join(all, ", ")
}

// trouble makes one at random, and waits until a host owns.
func (s *soak) trouble() {
	s.Helper()
	if s.random.IntN(2) == 0 {
		s.did["a fault of a platform"]++
		s.fault()
		stage.Await(s, "a host owns", func() bool { return s.owner() != nil })
		return
	}
	owner, other := s.settled()
	all := map[string]func(){
		"cluster yield": func() { _ = owner.command("cluster", "yield").Run() },
		"a reload":      s.reload,
		"a slow way to the database": func() {
			owner.way.slow.Store(int64(100 * time.Millisecond))
			time.AfterFunc(time.Second, func() { owner.way.slow.Store(0) })
		},
		"a crash of PostgreSQL": func() {
			s.db.Stop(syscall.SIGQUIT)
			s.db.Again()
		},
	}
	for name, end := range ends {
		all[name] = func() { end.how(owner) }
	}
	for name, plug := range plugs {
		all["a pulled plug of "+name] = func() {
			for _, h := range plug(owner, other) {
				h.kill()
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	name := names[s.random.IntN(len(names))]
	s.did[name]++
	all[name]()
	began := time.Now()
	if name == "a deaf way to the database" {
		stage.Await(s, "the other host owns", other.owns)
	}
	for _, h := range s.hosts {
		h.way.up.Store(false)
		h.way.down.Store(false)
		if h.guard == nil {
			h.start()
		}
	}
	stage.Await(s, "a host owns", func() bool { return s.owner() != nil })
	took := time.Since(began)
	s.slowest = max(s.slowest, took)
	s.Logf("%s of %s: a host owned after %v", name, owner.name, took)
}

// reload gives both hosts another allowance. One that does not answer reads it at its start.
func (s *soak) reload() {
	for _, h := range s.hosts {
		h.allowance++
		h.write(s.pair)
	}
	for _, h := range s.hosts {
		_ = h.command("reload").Run()
	}
}

// fault has a platform fail once.
func (s *soak) fault() {
	switch sea := s.sea; s.random.IntN(5) {
	case 0:
		sea.slack.Next("chat.postMessage", oneOf(s, slacktest.Fault{Status: 503}, slacktest.Fault{Status: 429, RetryAfter: 1}, slacktest.Fault{Lost: true}, slacktest.Fault{Unread: true}))
	case 1:
		sea.discord.Next("create", oneOf(s, discordtest.Fault{Status: 503}, discordtest.Fault{Status: 429, RetryAfter: 0.5}, discordtest.Fault{Lost: true}, discordtest.Fault{Unread: true}))
	case 2:
		sea.telegram.Next("sendMessage", oneOf(s, telegramtest.Fault{Status: 502, Body: "{}"}, telegramtest.Fault{Lost: true}, telegramtest.Fault{Torn: true}))
	case 3:
		sea.push.Next(oneOf(s, pushtest.Fault{Status: 503}, pushtest.Fault{Lost: true}, pushtest.Fault{Late: 500}))
	default:
		do := oneOf(s, whatsapptest.LoseAck, whatsapptest.Swallow, whatsapptest.Cut, whatsapptest.CutAfter)
		sea.whatsapp.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: do, Phone: stage.OurNumber})
	}
}

func oneOf[T any](s *soak, all ...T) T { return all[s.random.IntN(len(all))] }
