package channel_test

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

func TestAChannelIsBlindIfNeitherKeyNorQuestionHelps(t *testing.T) {
	m := memory.New(memory.Options{})
	for name, c := range map[string]struct {
		channel channel.Channel
		keyed   time.Duration
		blind   bool
	}{
		"knows ids for ever":  {m, channel.Forever, false},
		"can be asked":        {memory.Finding{Channel: m}, 0, false},
		"knows ids for a day": {memory.Blind{Channel: m, Keyed: 24 * time.Hour}, 24 * time.Hour, false},
		"knows no ids":        {memory.Blind{Channel: m}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.channel.Repeat()
			if r.Keyed != c.keyed || channeltest.Blind(c.channel) != c.blind {
				t.Errorf("keyed for %v, blind %t", r.Keyed, channeltest.Blind(c.channel))
			}
			if age := 25 * time.Hour; r.Knows(age) != (c.keyed == channel.Forever) {
				t.Errorf("after %v: %t", age, r.Knows(age))
			}
		})
	}
}
