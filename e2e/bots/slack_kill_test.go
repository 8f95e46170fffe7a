package bots

import (
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

func beforeIt(kill func()) slacktest.Fault { return slacktest.Fault{Before: kill, Status: 503} }

func afterIt(kill func()) slacktest.Fault { return slacktest.Fault{After: kill} }
