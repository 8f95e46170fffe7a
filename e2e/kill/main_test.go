// Package kill tells the stories of hosts that are killed, disks that fail, power that goes, and everything at once.
package kill

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
)

func TestMain(m *testing.M) {
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run}, children()...)
}
