package outbox_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox"
)

func TestZZInstr(t *testing.T) {
	o := open(t, outbox.Options{})
	for i := range 3000 {
		put(t, o, text(groups.JID(fmt.Sprint("fake:", i%100)), fmt.Sprint("m", i)))
	}
}
