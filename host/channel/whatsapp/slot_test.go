package whatsapp

import (
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// Each lost acknowledgement keeps the slot for the ackWait of that moment.
func TestHoweverManyAcknowledgementsAreLostTheyDelayOthersByLessThanTwoTimeouts(t *testing.T) {
	s := sendSlot{ackWait: defaultAckWait, ackTime: 25 * time.Second}
	var delay time.Duration
	for lost := range 40 {
		delay += s.ackWaitNow()
		s.missing.Add(1)
		if most := 2*defaultAckWait + time.Duration(lost)*leastAckWait; delay >= most {
			t.Errorf("after %d lost acknowledgements others wait for %v, want less than %v", lost+1, delay, most)
		}
	}
	s = sendSlot{ackWait: defaultAckWait, ackTime: time.Second}
	if got := s.ackWaitNow(); got != time.Second {
		t.Errorf("the ackWait is %v, longer than a Send waits in all", got)
	}
}

func TestALateAnswerIsAnAcknowledgementARefusalOrTheEnd(t *testing.T) {
	ack := func(attrs waBinary.Attrs) *waBinary.Node { return &waBinary.Node{Tag: "ack", Attrs: attrs} }
	if at, err := acknowledged(ack(waBinary.Attrs{"t": "1700000000"})); err != nil || at.Unix() != 1700000000 {
		t.Errorf("an acknowledgement is %v, %v", at, err)
	}
	for name, tt := range map[string]struct {
		answer *waBinary.Node
		class  channel.Class
	}{
		"refused for good":      {ack(waBinary.Attrs{"error": "463"}), channel.Permanent},
		"refused for a while":   {ack(waBinary.Attrs{"error": "503"}), channel.Passing},
		"the connection ended":  {&waBinary.Node{Tag: "xmlstreamend"}, channel.Ambiguous},
		"the stream ended":      {&waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "503"}}, channel.Ambiguous},
		"the channel is closed": {nil, channel.Ambiguous},
	} {
		if _, err := acknowledged(tt.answer); err == nil || channel.ClassOf(outcome.Of(err)) != tt.class {
			t.Errorf("%s: %v, want %v", name, err, tt.class)
		}
	}
}
