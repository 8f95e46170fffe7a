package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/cause"
)

const (
	outputStart = "---NANOCLAW_OUTPUT_START---"
	outputEnd   = "---NANOCLAW_OUTPUT_END---"

	maxStart = 64 << 20 // bytes of the start document, which may contain a long backlog of messages
	maxReply = 1 << 20  // bytes of one output's text; a tenth of what a v1 host reads in total
)

// start is the start document of a conversation. Unknown keys are ignored; a newer
// host may send them.
type start struct {
	Prompt    string            `json:"prompt"`
	Session   string            `json:"sessionId"`
	Folder    string            `json:"groupFolder"`
	Chat      string            `json:"chatJid"`
	Main      bool              `json:"isMain"`
	Scheduled bool              `json:"isScheduledTask"`
	Secrets   map[string]string `json:"secrets"`
	Name      string            `json:"assistantName"`
	Turn      string            `json:"turn"`    // stamps the requests; empty: the host does not ask for it
	Thread    string            `json:"thread"`  // of the chat, in which the members wrote; may be empty
	Trouble   bool              `json:"trouble"` // whether the host takes outputs of status "waiting"
}

// output is one marked answer. A nil Result only reports the session.
type output struct {
	Status  string  `json:"status"` // success, error, or waiting: the turn goes on
	Result  *string `json:"result"`
	Session string  `json:"newSessionId,omitempty"`
	Error   string  `json:"error,omitempty"`

	// Cause is why the status is error, or what keeps the model from answering:
	// one of package cause's. With waiting, an empty one says that the model
	// answers again, and Seconds how long it has not.
	Cause   cause.Cause `json:"cause,omitempty"`
	Seconds int         `json:"seconds,omitempty"`

	// Inputs are the names of the follow-ups taken up since the last output. v1's
	// runner does not report them, and v1's host ignores them.
	Inputs []string `json:"inputs"`

	Usage *Usage `json:"usage,omitempty"` // since the last output but waiting; nil: not known
}

// readStart reads the first JSON value. It does not wait for the end of stdin, which
// some runtimes leave open.
func readStart(r io.Reader) (start, error) {
	var s start
	if err := json.NewDecoder(io.LimitReader(r, maxStart)).Decode(&s); err != nil {
		return start{}, fmt.Errorf("read the start document from stdin: %w", err)
	}
	return s, nil
}

// opening returns the first prompt.
func (s start) opening() string {
	if s.Scheduled {
		return "[Scheduled task: no member wrote this just now.]\n\n" + s.Prompt
	}
	return s.Prompt
}

// env returns the variables for the assistant's programs and tools. It omits a
// secret whose name is not a valid variable name or whose value contains NUL.
func (s start) env() []string {
	main := "0"
	if s.Main {
		main = "1"
	}
	var env []string
	for _, prefix := range []string{"LONGSHORE_", "NANOCLAW_"} {
		if s.Chat == "" {
			break // without a chat in the document, the runtime's variables stay
		}
		env = append(env, prefix+"CHAT_JID="+s.Chat, prefix+"GROUP_FOLDER="+s.Folder, prefix+"IS_MAIN="+main)
	}
	for name, value := range map[string]string{"ASSISTANT_NAME": s.Name, "TURN": s.Turn, "THREAD": s.Thread} {
		if value != "" && !strings.ContainsRune(value, 0) {
			env = append(env, "LONGSHORE_"+name+"="+value)
		}
	}
	name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	for _, key := range slices.Sorted(maps.Keys(s.Secrets)) {
		if name.MatchString(key) && !strings.ContainsRune(s.Secrets[key], 0) {
			env = append(env, key+"="+s.Secrets[key])
		}
	}
	return env
}

// move replaces a host and port in the addresses that the document has.
func (s start) move(from, to string) {
	if from == to {
		return
	}
	for name, value := range s.Secrets {
		if path, ok := strings.CutPrefix(value, "http://"+from+"/"); ok {
			s.Secrets[name] = "http://" + to + "/" + path
		}
	}
}

// writeOutput writes one marked answer in a single write, so that no other output
// comes between the marks.
func writeOutput(w io.Writer, o output) error {
	if o.Result != nil {
		text := strings.ToValidUTF8(cut(*o.Result), "?")
		o.Result = &text
	}
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n%s\n", outputStart, body, outputEnd); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// cut shortens an answer to the limit of one output.
func cut(text string) string {
	if len(text) <= maxReply {
		return text
	}
	return text[:maxReply] + "\n[the rest of the answer was cut]"
}
