// Package bots tells the stories of the whole road over Slack, Discord and Telegram, each on the loopback.
package bots

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
)

func TestMain(m *testing.M) {
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run})
}
