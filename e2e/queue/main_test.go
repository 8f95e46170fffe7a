// Package queue tells the stories of what assistants put into their queues: order, fairness, backlogs, bad inputs, approvals, accounts.
package queue

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
)

func TestMain(m *testing.M) {
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run})
}
