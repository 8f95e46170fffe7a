package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/media"
)

func newWhy(e *env) *cobra.Command {
	var probe bool
	cmd := &cobra.Command{
		Use:   "why GROUP",
		Short: "say what keeps a group's assistant from answering",
		Long: `Goes through everything between a member's message and an answer, in order, and
ends at the first thing that stops it, with what to do. What only may keep the
answer is marked with "!". GROUP is the group's folder, name or chat, or a chat that
no group has. With --probe the service of the assistant's model is asked whether it
takes the key and has the model; that costs nothing.

Ends with exit code 4 if something stops the answer.`,
		Args: terminal.Exactly("group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.load()
			if err != nil {
				return e.whyByOlder(cmd.Context(), err)
			}
			g, err := findGroup(c, args[0])
			if err != nil {
				return e.whyUnknownChat(cmd.Context(), c, args[0], err)
			}
			w := &path{env: e, config: c, group: g, probe: probe}
			w.walk(cmd.Context())
			return w.answer(g.Folder, "the assistant of group %s does not answer")
		},
	}
	cmd.Flags().BoolVar(&probe, "probe", false, "try the assistant's key at its service")
	return cmd
}

// step is one thing between a member's message and an answer.
type step struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Words  string `json:"words"`
	Remedy string `json:"remedy,omitempty"`
}

// path is the way from a member's message to an answer, as far as walk has come.
type path struct {
	env     *env
	config  *config.Config
	group   groups.Group
	client  *operator.Client
	status  operator.Status
	served  operator.Group // the group as the host serves it
	probe   bool           // try the key
	steps   []step
	stopped bool // the last step keeps the assistant from answering
}

func (w *path) good(name, format string, args ...any) {
	w.steps = append(w.steps, step{Name: name, OK: true, Words: fmt.Sprintf(format, args...)})
}

func (w *path) stop(name, words, remedy string) {
	w.steps = append(w.steps, step{Name: name, Words: words, Remedy: remedy})
	w.stopped = true
}

// warn adds what may keep the answer or a part of it.
func (w *path) warn(name, words, remedy string) {
	w.steps = append(w.steps, step{Name: name, Words: words, Remedy: remedy})
}

// walk takes the steps in the order of a message, up to the first that stops it.
func (w *path) walk(ctx context.Context) {
	for _, check := range []func(context.Context){
		w.host, w.file, w.disk, w.clock, w.channel, w.registration, w.members, w.trigger, w.assistant, w.program, w.key, w.mounts, w.budget, w.turn, w.policy, w.queue, w.delivery,
	} {
		if check(ctx); w.stopped {
			return
		}
	}
}

// answer prints the steps. If one of them stopped the walk, it returns an error of the group or chat
// who, with exit code 4.
func (w *path) answer(who, failed string) error {
	err := w.env.Answer(map[string]any{"group": who, "answers": !w.stopped, "steps": w.steps}, w.print)
	if err == nil && w.stopped {
		err = &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf(failed, who)}
	}
	return err
}

func (w *path) print() error {
	t := w.env.Table()
	for i, s := range w.steps {
		mark := "ok"
		switch {
		case !s.OK && w.stopped && i == len(w.steps)-1:
			mark = "no"
		case !s.OK:
			mark = "!"
		}
		t.Row(mark, s.Name, w.env.Remedy(s.Words))
		if s.Remedy != "" {
			t.Row(" ", " ", "to do: "+w.env.Remedy(s.Remedy))
		}
	}
	return t.Flush()
}

func (w *path) host(ctx context.Context) {
	w.client = operator.NewClient(operator.ControlDir(w.config.Layout()))
	var err error
	w.status, err = w.client.Status(ctx)
	switch {
	case errors.Is(err, operator.ErrDenied):
		w.stop("host", err.Error(), terminal.AsOwner)
	case errors.Is(err, operator.ErrNoHost):
		w.stop("host", "no host is running", w.env.Command("serve"))
	case err != nil:
		w.stop("host", "the host does not answer: "+err.Error(), w.env.Command("doctor"))
	default:
		w.good("host", "runs as process %d", w.status.PID)
	}
}

func (w *path) channel(context.Context) {
	i := slices.IndexFunc(w.status.Channels, func(c operator.Channel) bool { return c.Name == w.group.Channel })
	switch {
	case i < 0:
		w.stop("channel", "the host runs without the channel "+w.group.Channel, "restart the host: a new channel needs it")
	case !w.status.Channels[i].Connected:
		detail := w.status.Channels[i].Detail
		w.stop("channel", w.group.Channel+" is not connected: "+detail, operator.ChannelRemedy(detail))
	default:
		w.good("channel", "%s is connected: %s", w.group.Channel, terminal.OrDash(w.status.Channels[i].Detail))
	}
}

// registration compares the group in the file with the group that the host serves.
func (w *path) registration(context.Context) {
	g := w.group
	i := slices.IndexFunc(w.status.Groups, func(s operator.Group) bool { return s.Folder == g.Folder })
	if i >= 0 {
		w.served = w.status.Groups[i]
	}
	switch s := w.served; {
	case i < 0:
		w.stop("group", "the host does not serve this group yet", w.env.Command("reload"))
	case s.Chat != string(g.Chat) || s.Channel != g.Channel || s.Assistant != g.Assistant || s.Trigger != g.Trigger:
		w.stop("group", "the host still serves it as the file was before", w.env.Command("reload"))
	default:
		w.good("group", "%s is the chat %s", g.Folder, string(g.Chat))
		w.faulty("group", operator.FaultChat, "channel "+g.Channel)
	}
}

func (w *path) members(context.Context) {
	words := "may speak: " + strings.Join(w.group.Members.Of(groups.MaySpeak), ", ")
	if n := w.served.NotAllowed; n > 0 {
		words += fmt.Sprintf("; %s of others not read since the host's start", media.Count(n, "message"))
	}
	w.good("members", "%s", words)
}

func (w *path) trigger(context.Context) {
	switch n := w.served.NotCalled; {
	case w.faulty("trigger", operator.FaultTrigger, "group "+w.group.Folder):
	case w.group.Trigger == "":
		w.good("trigger", "every message calls the assistant")
	case n > 0:
		w.good("trigger", "a message must have %s; %s since the host's start had not", w.group.Trigger, media.Count(n, "message"))
	default:
		w.good("trigger", "a message must have %s", w.group.Trigger)
	}
}

func (w *path) assistant(ctx context.Context) {
	if w.group.Assistant == "" {
		w.stop("assistant", "the group has none: nobody answers",
			fmt.Sprintf("add assistant: NAME to the group in %s, then: %s", w.env.Config, w.env.Command("reload")))
		return
	}
	a := w.config.Assistants[w.group.Assistant]
	if a.Runtime == config.Elsewhere {
		w.elsewhere(ctx)
		return
	}
	if a.Runtime == config.OverSSH {
		w.good("assistant", "%s: agent %s, over ssh on %s as %s", w.group.Assistant, a.Agent, a.SSH.Host, a.SSH.User)
		return
	}
	w.good("assistant", "%s: agent %s, runtime %s", w.group.Assistant, a.Agent, a.Runtime)
}

// elsewhere checks that a token can fetch the group's messages.
func (w *path) elsewhere(ctx context.Context) {
	all, err := w.client.Tokens(ctx)
	switch {
	case err != nil:
		w.stop("assistant", err.Error(), w.env.Command("doctor"))
	case !slices.ContainsFunc(all, func(t tokens.Token) bool { return t.Folder == w.group.Folder }):
		w.stop("assistant", w.group.Assistant+" lives elsewhere, and no token lets it fetch this group's messages", w.env.Command("tokens", "new", w.group.Folder))
	default:
		w.good("assistant", "%s lives elsewhere and fetches its messages at %s", w.group.Assistant, w.config.Remote.Listen)
	}
}

// program asks the host what the assistant lacks: the host's PATH and user decide.
func (w *path) program(ctx context.Context) {
	findings, err := w.client.Environment(ctx, w.group.Folder)
	if err != nil {
		w.stop("program", err.Error(), w.env.Command("doctor"))
		return
	}
	for _, f := range findings {
		if f.Severity == channel.Fault {
			w.stop("program", f.Message, f.Remedy)
			return
		}
	}
	w.good("program", "the host finds all that the assistant needs")
}

// key tries the assistant's key, with --probe.
func (w *path) key(ctx context.Context) {
	if !w.probe || w.config.Assistants[w.group.Assistant].Runtime == config.Elsewhere {
		return
	}
	switch f := doctor.Probe(ctx, w.group.Assistant, w.config.Assistants[w.group.Assistant]); f.Severity {
	case channel.Fault:
		w.stop("key", f.Message, f.Remedy)
	case channel.Warning:
		w.warn("key", f.Message, f.Remedy)
	default:
		w.good("key", "%s", f.Message)
	}
}

// policy reports the rules that may delay or refuse the files of an answer.
func (w *path) policy(context.Context) {
	g := w.group
	now := time.Now().In(w.config.Zone(g))
	if hours := g.MaySend.Hours; !hours.Contain(now) {
		w.warn("policy", fmt.Sprintf("files leave at %s only (may_send.hours), and it is %s; texts go out", hours, now.Format("15:04 MST")), "")
	}
	var rules []string
	if len(g.MaySend.Kinds) > 0 {
		rules = append(rules, "only files of kind "+strings.Join(g.MaySend.Kinds, ", "))
	}
	if g.MaySend.Most > 0 {
		rules = append(rules, "no file above "+media.Size(int64(g.MaySend.Most)))
	}
	if a := g.Approve; a.Files || a.First || a.Foreign || a.Above > 0 || len(a.Kinds) > 0 {
		rules = append(rules, "some files wait for an approval, see: "+w.env.Command("approvals", "list"))
	}
	if len(rules) > 0 {
		w.good("policy", "%s", strings.Join(rules, "; "))
	}
}

// budget reports what the calls of the model have used, and stops if the budget has ended.
func (w *path) budget(context.Context) {
	m := w.served.Model
	if m == nil {
		return
	}
	if m.Budget == "" {
		w.good("budget", "none; calls of the model used %d tokens since the host's start", m.Input+m.Cached+m.Written+m.Output)
		return
	}
	words := fmt.Sprintf("%s; %d tokens, %.2f USD used, %.0f %% left until %s", m.Budget, m.SpentTokens, m.SpentUSD, 100*m.Left, m.Until.Format("2006-01-02 15:04 MST"))
	if m.Over {
		w.stop("budget", words+"; the last call needed more than is left", w.remedy(cause.Budget))
		return
	}
	w.good("budget", "%s", words)
}

// turn reports the assistant's last turn, or the one under way.
func (w *path) turn(context.Context) {
	for _, a := range w.status.Assistants {
		if a.Group != w.group.Folder {
			continue
		}
		if a.Cause != "" || a.State == "waiting" || a.State == "broken" {
			w.stop("turn", strings.TrimSuffix(a.State+", "+a.Cause, ", ")+": "+a.Detail, w.remedy(cause.Cause(a.Cause)))
			return
		}
		if a.State == "elsewhere" {
			w.good("inbox", "%s", a.Detail)
			continue
		}
		w.good("turn", "%s since %s", a.State, terminal.ClockText(a.Started))
	}
}

// remedy returns what to do about a cause that keeps the assistant from answering.
func (w *path) remedy(c cause.Cause) string {
	switch name := w.group.Assistant; c {
	case cause.Key:
		return fmt.Sprintf("give assistants.%s in %s a key that the service accepts, then: %s", name, w.env.Config, w.env.Command("reload"))
	case cause.Credit:
		return "buy credit, or wait until the quota begins anew; the host tries again by itself"
	case cause.Directory, cause.Setup:
		return "correct what the message says; the host tries again by itself"
	case cause.Start:
		return fmt.Sprintf("correct what the engine says, such as a missing package; then: %s, or wait: the host tries again by itself", w.env.Command("reload"))
	case cause.Budget:
		return fmt.Sprintf("wait until the budget begins anew, or raise it in %s, then: %s", w.env.Config, w.env.Command("reload"))
	case cause.Absent:
		return "start the program that fetches the group's messages, and see that it reaches " + w.config.Remote.Listen + " and acknowledges them: see docs/remote.md"
	case cause.Busy, cause.Failing, cause.Unreachable, cause.Silent:
		return "the host tries again by itself; if it lasts, check the network and the service's status page"
	}
	return "tail -n 20 " + terminal.ShellWord(filepath.Join(w.config.Layout().Logs(), w.group.Folder, "assistant.log"))
}

func (w *path) delivery(context.Context) {
	s := w.served
	if w.stopFor("answers", operator.FaultQueue, "group "+w.group.Folder) {
		return
	}
	if s.Pending+s.Waiting == 0 {
		w.good("answers", "none is on the way")
		return
	}
	w.good("answers", "%s, %s not yet accepted; see: %s", media.Count(s.Pending, "delivery"), media.Count(s.Waiting, "request"), w.env.Command("queue", "list"))
}
