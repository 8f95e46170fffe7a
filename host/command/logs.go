package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// logEvery is how often logs -f asks the host and reads the file.
const logEvery = 500 * time.Millisecond

func newLogs(e *env) *cobra.Command {
	var follow bool
	lines := 50
	cmd := &cobra.Command{
		Use:   "logs [GROUP]",
		Short: "show the newest lines of the host's log, and of an assistant's",
		Long: `logs prints the newest lines of the running host's log. With a group, it prints the lines
about that group, and what the group's assistant wrote to its log. The host remembers its
last thousand lines; what it wrote before is where it was told to write, such as in
journalctl -u longshore.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return terminal.Usage("there is no negative number of lines", "0 prints all that there are")
			}
			v, err := e.viewLogs(cmd.Context(), args, lines)
			if err != nil {
				return err
			}
			if err := v.print(cmd.Context()); err != nil || !follow {
				return err
			}
			return v.follow(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing until it is interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how `many` of each at most; 0: all")
	return cmd
}

// logView prints the lines of the host's log and of an assistant's log file.
type logView struct {
	e     *env
	host  *operator.Client // nil: no host runs
	query operator.LogQuery
	file  string // the assistant's log; empty: no group was named
	read  int64  // bytes of file that were printed
}

func (e *env) viewLogs(ctx context.Context, args []string, lines int) (*logView, error) {
	c, err := e.load()
	if err != nil {
		return nil, err
	}
	v := &logView{e: e, query: operator.LogQuery{Limit: lines}}
	if v.host, err = e.hostOf(ctx, c.Layout()); err != nil {
		return nil, err
	}
	if len(args) > 0 {
		g, err := findGroup(c, args[0])
		if err != nil {
			return nil, err
		}
		v.query.Group = g.Folder
		v.file = filepath.Join(c.Layout().Logs(), g.Folder, "assistant.log")
	}
	if v.host == nil && v.file == "" {
		return nil, terminal.Hinted(errors.New("no host is running, and only a running host remembers its log"), "see where it was written, such as: journalctl -u longshore; or start it: "+e.Command("serve"))
	}
	return v, nil
}

// logLine is a line of either log. An assistant's line has no level, fields or time of its own.
type logLine struct {
	Time      time.Time `json:"time,omitzero"`
	Level     string    `json:"level,omitempty"`
	Group     string    `json:"group,omitempty"`
	Message   string    `json:"message"`
	Fields    string    `json:"fields,omitempty"`
	Assistant bool      `json:"assistant,omitempty"`
}

// print prints the lines since the last call: the assistant's before the host's. If the host does not
// answer, the assistant's lines are printed all the same.
func (v *logView) print(ctx context.Context) error {
	all, err := v.ofAssistant()
	if err != nil {
		return err
	}
	var unheard error
	if v.host != nil {
		page, err := v.host.Log(ctx, v.query)
		if err != nil {
			unheard = ofControl(err)
		} else {
			v.query.After = page.Next
		}
		for _, l := range page.Lines {
			all = append(all, logLine{l.Time, l.Level, l.Group, l.Message, l.Fields, false})
		}
	}
	for _, l := range all {
		if err := v.e.printLogLine(l); err != nil {
			return err
		}
	}
	v.query.Limit = 0 // later lines are printed whole
	return unheard
}

func (e *env) printLogLine(l logLine) error {
	if e.JSON { // one value a line, for programs that follow
		b, err := json.Marshal(l)
		if err == nil {
			_, err = fmt.Fprintf(e.Stdout, "%s\n", b)
		}
		return err
	}
	if l.Assistant {
		e.Say("%s | %s", l.Group, l.Message)
		return nil
	}
	words := []string{terminal.ClockText(l.Time), fmt.Sprintf("%-5s", l.Level), l.Message}
	if l.Group != "" {
		words = append(words, "group="+l.Group)
	}
	if l.Fields != "" {
		words = append(words, l.Fields)
	}
	e.Say("%s", strings.Join(words, " "))
	return nil
}

// maxTail is how many bytes of an assistant's log are read at once.
const maxTail = 256 << 10

// ofAssistant returns the whole lines that the assistant has written since the last call, the newest
// that maxTail and the limit have room for.
func (v *logView) ofAssistant() (all []logLine, err error) {
	if v.file == "" {
		return nil, nil
	}
	f, err := os.Open(v.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the assistant's log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the assistant's log: %w", err)
	}
	if info.Size() < v.read { // a new run has truncated the file
		v.read = 0
	}
	from := max(v.read, info.Size()-maxTail)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("read the assistant's log: %w", err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if from > v.read { // the text begins within a line
		text = text[min(end, bytes.IndexByte(text, '\n')+1):end]
	} else {
		text = text[:end]
	}
	v.read = from + int64(end)
	for line := range strings.Lines(string(text)) {
		all = append(all, logLine{Group: v.query.Group, Message: media.Printable(strings.TrimRight(line, "\r\n")), Assistant: true})
	}
	if n := v.query.Limit; n > 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return all, nil
}

// follow prints until ctx is done, which is no error. It waits for a host that restarts.
func (v *logView) follow(ctx context.Context) error {
	gone := false
	for range wake.Every(ctx, logEvery) {
		err := v.print(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !gone:
			fmt.Fprintln(v.e.Stderr, "longshore: the host does not answer; its next lines follow")
		}
		gone = err != nil
	}
	return nil
}
