package bot

import (
	"errors"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Once is an error of a platform's for a command, which, unlike the host, does not try
// again: of an error that passes, the hint says what to see to. server is whom the command
// asked. Other errors, and nil, stay as they are.
func Once(err error, server string) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Passing {
		return err
	}
	mine := *e
	mine.Hint = "see whether this machine reaches " + server + ", and run this command again"
	return &mine
}
