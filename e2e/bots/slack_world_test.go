package bots

import (
	"strings"

	"github.com/longshore-bridge/longshore/ipc"
)

// notes are those of all files of a result, and of its text.
func notes(r ipc.Result) string {
	var all []string
	for _, p := range r.Parts {
		all = append(all, p.Note)
	}
	return strings.Join(all, "\n")
}
