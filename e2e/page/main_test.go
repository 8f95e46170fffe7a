// Package page tells the stories of the chat page: reloads, stops, history, floods.
package page

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
)

func TestMain(m *testing.M) {
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run})
}
