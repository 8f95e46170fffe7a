package sample

import (
	"context"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// request is what members ask for in a prompt.
type request struct {
	text  string
	files []agent.File // that came, or else those of the messages that are answered
}

// read takes the last words and all files of a prompt: members write the words of a
// file in a message before it or after it.
func read(prompt string) (r request) {
	all := agent.Messages(prompt)
	if len(all) == 0 {
		return request{text: agent.LastMessage(prompt)}
	}
	var quoted []agent.File
	for _, m := range all {
		if m.Text != "" {
			r.text = m.Text
		}
		r.files, quoted = append(r.files, m.Files...), append(quoted, m.Quoted...)
	}
	if len(r.files) == 0 {
		r.files = quoted
	}
	return r
}

// maxBack is how many files go back at once: send_files takes as many.
const maxBack = 32

// giveBack sends members' files back, with a kind word.
func (a Agent) giveBack(ctx context.Context, t agent.Turn, files []agent.File) (string, error) {
	var there []agent.File
	var words []string
	for _, f := range files {
		if f.Path == "" {
			words = append(words, fmt.Sprintf("I did not get %s: %s.", f.Name, f.Missing))
		} else {
			there = append(there, f)
		}
	}
	if more := len(there) - maxBack; more > 0 {
		there = there[:maxBack]
		words = append(words, fmt.Sprintf("I keep the other %d for you.", more))
	}
	if len(there) == 0 {
		return strings.Join(words, "\n"), nil
	}
	tool, arguments := "send_file", map[string]any{"file_path": there[0].Path}
	if len(there) > 1 {
		var list []any
		for _, f := range there {
			list = append(list, map[string]any{"file_path": f.Path})
		}
		tool, arguments = "send_files", map[string]any{"files": list}
	}
	if answer, err := a.call(ctx, t, tool, arguments); err != nil || !answer.sent {
		return answer.text, err
	}
	return strings.Join(append([]string{kindWord(there)}, words...), "\n"), nil
}

// kindWord says something kind about files, and nothing that nobody has looked at.
func kindWord(files []agent.File) string {
	if n := len(files); n > 1 {
		return fmt.Sprintf("Thank you for these %d files! They arrived whole, and here they are again.", n)
	}
	what := "%s"
	switch files[0].Kind {
	case "image":
		what = "the picture %s"
	case "video":
		what = "the film %s"
	case "voice":
		what = "the voice note %s"
	case "audio":
		what = "the recording %s"
	case "sticker":
		what = "the sticker %s"
	}
	return fmt.Sprintf("Thank you for "+what+"! It arrived whole, and here it is again.", files[0].Name)
}
