//go:build e2e

package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// within is how soon the chat hears why its assistant does not answer, if
// limits.notice_after is as long as shortPatience or one minute.
const (
	within        = 75 * time.Second
	shortPatience = 20 * time.Second
)

// row is one way in which an agent CLI fails.
type row struct {
	name   string
	model  modeltest.Answer
	cause  cause.Cause
	words  string // that the chat hears first
	answer string // that the message gets once the model is well again; empty: none
	kill   bool   // the CLI is killed while the model has its request
	send   bool   // and has sent a file before
	absent bool   // there is no such program, until the remedy
	own    bool   // each CLI says it in words of its own; the other rows are the host's
}

// rows are the table of failures, with the services' own errors.
func rows(cli string) []row {
	of := func(anthropic, openai, google string) string {
		return map[string]string{"claude": anthropic, "gemini": google}[cli] + map[string]string{"codex": openai, "opencode": openai}[cli]
	}
	status := func(n int, kind, text string) modeltest.Answer {
		return modeltest.Answer{Status: n, Again: true, Type: kind, Text: text}
	}
	failing, failingWords := cause.Failing, "The model's service reports an error"
	if cli == "codex" { // which says of every status 500 that there is high demand
		failing, failingWords = cause.Busy, "The model is busy"
	}
	credit := 429
	if cli == "claude" {
		credit = 400
	}
	return []row{
		{name: "429", model: status(429, of("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"), "Rate limit reached"),
			cause: cause.Busy, words: "The model is busy", answer: "Aye.", own: true},
		{name: "500", model: status(500, of("api_error", "server_error", "INTERNAL"), "Internal server error"), cause: failing, words: failingWords, answer: "Aye.", own: true},
		{name: "401", model: status(401, of("authentication_error", "invalid_api_key", "UNAUTHENTICATED"), "invalid x-api-key"),
			cause: cause.Key, words: "The model's service does not accept the assistant's key. An operator has to see to it. Your message is kept", answer: "Aye.", own: true},
		{name: "credit", model: status(credit, of("invalid_request_error", "insufficient_quota", "RESOURCE_EXHAUSTED"),
			of("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
				"You exceeded your current quota, please check your plan and billing details.", "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.")),
			cause: cause.Credit, words: "The model's credit is used up. An operator has to see to it. Your message is kept", answer: "Aye.", own: true},
		{name: "hang", model: modeltest.Answer{Hang: true}, cause: cause.Silent, words: "The model is not answering; the assistant is still trying."},
		{name: "stall", model: modeltest.Answer{Stall: true, Text: "Ahoy"}, cause: cause.Silent, words: "The model is not answering; the assistant is still trying."},
		{name: "cut", model: modeltest.Answer{Cut: true, Text: "Ahoy"}, cause: cause.Unreachable, words: "The model cannot be reached", answer: "Aye.", own: true},
		{name: "killed", model: modeltest.Answer{Hang: true}, kill: true, cause: cause.Stopped, words: "The assistant stopped unexpectedly. It is being started again.", answer: "Aye."},
		{name: "killed-after", model: modeltest.Answer{Hang: true}, kill: true, send: true, cause: cause.Stopped, words: "The assistant was interrupted while it was answering."},
		{name: "absent", absent: true, cause: cause.NotInstalled, words: "The assistant's program is not installed. An operator has to see to it. Your message is kept", answer: "Aye."},
	}
}

// TestEveryFailureIsNamedInTheChat has Claude Code meet every row of the table in
// docs/operations.md, and codex the rows in which it speaks for itself. LONGSHORE_TEST_CLIS
// names CLIs that meet every row instead, also gemini and opencode, which start too slowly
// beside one another for a short patience. LONGSHORE_TEST_PATIENCE is a patience as
// operators have it, to measure the table.
func TestEveryFailureIsNamedInTheChat(t *testing.T) {
	t.Parallel()
	whole := []string{"claude"}
	if named := os.Getenv("LONGSHORE_TEST_CLIS"); named != "" {
		whole = strings.Split(named, ",")
	}
	for _, cli := range whole {
		t.Run(cli, func(t *testing.T) { newFailureTable(t, cli, rows(cli)).run() })
	}
	if !slices.Contains(whole, "codex") {
		own := slices.DeleteFunc(rows("codex"), func(r row) bool { return !r.own })
		t.Run("codex", func(t *testing.T) { newFailureTable(t, "codex", own).run() })
	}
}

// failureTable is a host with a group for each row.
type failureTable struct {
	*stage.Changing
	cli, program string
	rows         []row
	models       []*modeltest.Server
	patience     time.Duration

	changes sync.Mutex
	mended  map[string]bool // the rows whose program is there
}

func newFailureTable(t *testing.T, cli string, rows []row) *failureTable {
	x := &failureTable{cli: cli, program: modeltest.Install(t, cli), rows: rows, patience: shortPatience, mended: map[string]bool{}}
	if d, err := time.ParseDuration(os.Getenv("LONGSHORE_TEST_PATIENCE")); err == nil {
		x.patience = d
	}
	for _, r := range rows {
		x.models = append(x.models, modeltest.New(t, func(q modeltest.Request) modeltest.Answer {
			if r.send && len(q.Results) == 0 {
				return modeltest.SendFile("/workspace/group/a.txt", "")(q)
			}
			return r.model
		}))
	}
	x.Changing = stage.NewChanging(t, x.config())
	return x
}

// config is the host's configuration. A remedy changes it.
func (x *failureTable) config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "channels: {web: {listen: \"%%LISTEN%%\"}}\nlimits: {free_disk: 1MB, assistants: 20, notice_after: %s}\nassistants:\n", x.patience)
	for i, r := range x.rows {
		program := x.program
		if r.absent && !x.mended[r.name] {
			program = "/nowhere/" + x.cli
		}
		var env []string
		for _, v := range append(x.models[i].Env(), "LONGSHORE_RIGHTS=full", "LONGSHORE_MODEL=gemini-2.5-flash", "LONGSHORE_AGENT_PROGRAM="+program, "LONGSHORE_ROW="+r.name+x.models[i].URL) {
			name, value, _ := strings.Cut(v, "=")
			env = append(env, fmt.Sprintf("%s: %q", name, value))
		}
		fmt.Fprintf(&b, "  %s: {agent: %s, env: {%s}}\n", "a"+r.name, x.cli, strings.Join(env, ", "))
	}
	b.WriteString("groups:\n")
	for _, r := range x.rows {
		fmt.Fprintf(&b, "  - {folder: g%s, chat: \"web:g%s\", assistant: a%s, gather: {after: 0s}}\n", r.name, r.name, r.name)
	}
	return b.String()
}

// run has a few rows at a time happen.
func (x *failureTable) run() {
	places := make(chan struct{}, 4)
	var all sync.WaitGroup
	for i := range x.rows {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := x.happen(x.rows[i], x.models[i]); err != nil {
				x.T.Errorf("%s: %v", x.rows[i].name, err)
			}
		})
	}
	all.Wait()
}

// happen has one row happen: what the chat hears and when, what operators see then,
// and the answer after the remedy.
func (x *failureTable) happen(r row, model *modeltest.Server) error {
	chat := "g" + r.name
	if err := os.WriteFile(filepath.Join(x.Layout.Workspace(chat), "a.txt"), []byte("a"), 0o644); err != nil {
		return err
	}
	began := time.Now()
	x.ChatPage.Say(chat, "hello")
	if r.kill {
		if err := x.kill(r, model); err != nil {
			return err
		}
	}
	words, err := x.first(chat, began.Add(within))
	took := time.Since(began)
	if err != nil || !strings.HasPrefix(words, r.words) {
		return fmt.Errorf("the chat hears %q, want %q (%w)", words, r.words, err)
	}
	seen, err := x.causes(chat)
	x.T.Logf("| %s | %s | %s | %.0f s | %s |", x.cli, r.name, r.cause, took.Seconds(), words)
	if r.name != "killed-after" { // whose messages are done with
		if want := []string{string(r.cause), string(r.cause)}; err != nil || !slices.Equal(seen, want) {
			err = fmt.Errorf("status and metric say %q, want %q (%w)", seen, want, err)
		}
	}
	return errors.Join(err, x.remedy(r, model, chat))
}

// first is what the host says first in a chat.
func (x *failureTable) first(chat string, until time.Time) (string, error) {
	for tick := time.NewTicker(20 * time.Millisecond); time.Now().Before(until); <-tick.C {
		if texts := x.Texts(chat); len(texts) > 0 {
			return texts[0], nil
		}
	}
	return "", errors.New("in vain")
}

// causes are the group's cause in the status, and whether a metric has it too.
func (x *failureTable) causes(folder string) (seen []string, err error) {
	s, err := x.Client.Status(context.Background())
	if err != nil {
		return nil, err
	}
	for _, a := range s.Assistants {
		if a.Group != folder {
			continue
		}
		seen = append(seen, a.Cause)
		metrics, err := x.metrics()
		if err != nil {
			return seen, err
		}
		if strings.Contains(metrics, "longshore_assistants_unanswering{cause="+strconv.Quote(a.Cause)+"}") {
			seen = append(seen, a.Cause)
		}
	}
	return seen, nil
}

func (x *failureTable) metrics() (string, error) { return stage.Scrape(x.Layout.State) }

// remedy makes the model well, and the program be there. The message is answered
// then.
func (x *failureTable) remedy(r row, model *modeltest.Server, chat string) error {
	if r.answer == "" {
		return nil
	}
	model.Script(func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: r.answer} })
	if r.cause.Permanent() {
		x.changes.Lock()
		x.mended[r.name] = true
		x.Reload(x.config())
		x.changes.Unlock()
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if texts := x.Texts(chat); texts[len(texts)-1] == r.answer {
			return nil
		}
	}
	return fmt.Errorf("not answered after the remedy; the chat hears %q", x.Texts(chat))
}

// kill kills the CLI of a row while the model has its request.
func (x *failureTable) kill(r row, model *modeltest.Server) error {
	asked := 1
	if r.send {
		asked = 2
	}
	for range asked {
		select {
		case <-model.Arrived():
		case <-time.After(within):
			return errors.New("the model is not asked")
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		dir := filepath.Dir(path)
		env, _ := os.ReadFile(path)
		program, _ := os.Readlink(filepath.Join(dir, "exe"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if strings.Contains(string(env), "LONGSHORE_ROW="+r.name+model.URL) && program != self && program != "" {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return err
}
