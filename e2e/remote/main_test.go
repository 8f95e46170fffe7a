// Package remote tells the stories of assistants elsewhere: by HTTP, by ssh, in sessions, and the links to what they send.
package remote

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
)

func TestMain(m *testing.M) {
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run}, children()...)
}
