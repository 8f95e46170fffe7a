package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

func newWhy(e *env) *cobra.Command {
	var probe bool
	cmd := &cobra.Command{
		Use:   "why GROUP",
		Short: "say what keeps a group's assistant from answering",
		Long: `Shows the host's findings about everything between a member's message and an answer
in a group, in that order, each with what to do. "no" is what stops the answer, "!" what
may stop it. GROUP is the group's folder, name or chat, or a chat that no group has. With
--probe the service of the assistant's model is asked whether it takes the key and has
the model; that costs nothing.

Ends with exit code 4 if something stops the answer.`,
		Args: terminal.Exactly("group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.load()
			if err != nil {
				return e.whyByOlder(cmd.Context(), err)
			}
			g, err := findGroup(c, args[0])
			if err != nil {
				return e.whyUnknown(cmd.Context(), c, args[0], err)
			}
			w := &why{env: e, config: c, group: g}
			w.ask(cmd.Context(), probe)
			if v := w.status.Cluster; v.Standby() {
				return askOwner(v)
			}
			return w.answer(g.Folder, "the assistant of group %s does not answer")
		},
	}
	cmd.Flags().BoolVar(&probe, "probe", false, "try the assistant's key at its service")
	return cmd
}

// why is what is known of the way from a group's message to an answer.
type why struct {
	env      *env
	config   *config.Config
	group    groups.Group
	status   operator.Status
	findings []finding.Finding
}

func (w *why) found(name, part string, s finding.Severity, cause, remedy string) {
	w.findings = append(w.findings, finding.Finding{Name: name, Part: part, Severity: s, Cause: cause, Remedy: remedy})
}

func (w *why) well(part, format string, args ...any) {
	w.findings = append(w.findings, finding.Well(part, fmt.Sprintf(format, args...)))
}

// ask collects the findings of the running host about the group, and what its settings say.
func (w *why) ask(ctx context.Context, probe bool) {
	client := operator.NewClient(operator.ControlDir(w.config.Layout()))
	err := client.Health(ctx)
	var all []finding.Finding
	if err == nil {
		all, err = client.Findings(ctx, false)
	}
	if err == nil {
		w.status, err = client.Status(ctx)
	}
	if err != nil {
		w.unanswered(ctx, err)
		return
	}
	w.well("host", "runs as process %d", w.status.PID)
	for _, f := range all {
		ofAssistant := f.Severity == finding.Note && f.Part == "assistant "+w.group.Assistant
		if (f.Wrong() || f.Severity == finding.Fine || ofAssistant) && slices.Contains(w.way(), w.kindOf(f)) {
			w.findings = append(w.findings, f)
		}
	}
	w.served()
	w.settings()
	for _, a := range w.status.Assistants {
		if a.Group == w.group.Folder && a.Cause == "" && a.State != "broken" {
			w.well("assistant "+w.group.Assistant, "%s since %s: %s", a.State, terminal.ClockText(a.Started), terminal.OrDash(a.Detail))
		}
	}
	if a := w.config.Assistants[w.group.Assistant]; probe && a.Runtime != config.Elsewhere {
		w.findings = append(w.findings, doctor.Probe(ctx, w.group.Assistant, a))
	}
	slices.SortStableFunc(w.findings, func(a, b finding.Finding) int {
		return cmp.Compare(slices.Index(w.way(), w.kindOf(a)), slices.Index(w.way(), w.kindOf(b)))
	})
}

// askOwner refuses a question to a host that stands by.
func askOwner(v *cluster.View) error {
	return terminal.Hinted(fmt.Errorf("this host, %s, stands by: %s", v.Host, v.Who().Cause), "ask the host that owns: longshore cluster list names it")
}

// unanswered finds why no host answers. Of one that does not run, that is what keeps it from starting, or else that
// it does not run; and what will keep the group down.
func (w *why) unanswered(ctx context.Context, err error) {
	down := w.env.unasked(w.config.Layout(), err)
	down.Severity = finding.Fault
	if errors.Is(err, operator.ErrNoHost) {
		for _, f := range w.env.examine(ctx) {
			if f.ID() == down.ID() {
				f = down
			}
			if f.Wrong() && slices.Contains(w.way(), w.kindOf(f)) {
				w.findings = append(w.findings, f)
			}
		}
	}
	if faults(w.findings) == 0 {
		w.findings = append(w.findings, down)
	}
}

// way names the parts of a host between a group's message and its answer, in the order of a message.
func (w *why) way() []string {
	g := w.group
	way := []string{"host", "configuration", "state", "disk", "clock", "machine", finding.LimitsPart, "channel " + g.Channel, "group " + g.Folder}
	for _, name := range w.engines() {
		way = append(way, engines.Part(name))
	}
	return append(way, "assistant "+g.Assistant, "outbox", "queue")
}

// engines are the names of the engine that the group is on, or else of all that it may run on.
func (w *why) engines() []string {
	for _, a := range w.status.Assistants {
		if a.Group == w.group.Folder && a.Engine != "" {
			return []string{a.Engine}
		}
	}
	return w.config.EnginesOf(w.group)
}

// kindOf is the part of the way that a finding is about: the whole part's name, or that before details.
func (w *why) kindOf(f finding.Finding) string {
	for _, part := range w.way() {
		if rest, ok := strings.CutPrefix(f.Part, part); ok && (rest == "" || rest[0] == ',' || part == "configuration") {
			return part
		}
	}
	return ""
}

// served compares the group in the file with the group that the host serves.
func (w *why) served() {
	g, part := w.group, "group "+w.group.Folder
	i := slices.IndexFunc(w.status.Groups, func(s operator.Group) bool { return s.Folder == g.Folder })
	if i < 0 {
		w.found(finding.NotServed, part, finding.Fault, "the host does not serve this group yet", "longshore reload")
		return
	}
	s := w.status.Groups[i]
	if s.Chat != string(g.Chat) || s.Channel != g.Channel || s.Assistant != g.Assistant || s.Trigger != g.Trigger {
		w.found(finding.NotServed, part, finding.Fault, "the host still serves it as the file was before", "longshore reload")
	}
	members := "may speak: " + strings.Join(g.Members.Of(groups.MaySpeak), ", ")
	if s.NotAllowed > 0 {
		members += fmt.Sprintf("; %s of others not read since the host's start", media.Count(s.NotAllowed, "message"))
	}
	w.well(part, "%s is the chat %s; %s", g.Folder, string(g.Chat), members)
	switch {
	case g.Trigger == "":
		w.well(part, "every message calls the assistant")
	case s.NotCalled > 0:
		w.well(part, "a message must have %s; %s since the host's start had not", g.Trigger, media.Count(s.NotCalled, "message"))
	default:
		w.well(part, "a message must have %s", g.Trigger)
	}
	w.budget(s.Model)
	if s.Pending+s.Waiting > 0 {
		w.well("queue", "answers under way: %s, %s not yet accepted", media.Count(s.Pending, "delivery"), media.Count(s.Waiting, "request"))
	}
}

// budget tells what the calls of the model have used.
func (w *why) budget(m *operator.Spending) {
	part := "assistant " + w.group.Assistant
	switch {
	case m == nil:
	case m.Budget == "":
		w.well(part, "no budget; calls of the model used %d tokens since the host's start", m.Input+m.Cached+m.Written+m.Output)
	default:
		words := fmt.Sprintf("budget %s; %d tokens, %.2f USD used, %.0f %% left until %s", m.Budget, m.SpentTokens, m.SpentUSD, 100*m.Left, m.Until.Format("2006-01-02 15:04 MST"))
		if m.Over {
			w.found(string(cause.Budget), part, finding.Fault, words+"; the last call needed more than is left", "wait until the budget begins anew, or raise it in longshore.yaml, then: longshore reload")
			return
		}
		w.well(part, "%s", words)
	}
}

// settings tells what the file says of the group's assistant, and the rules that may delay or refuse
// the files of an answer.
func (w *why) settings() {
	g, part := w.group, "group "+w.group.Folder
	if g.Assistant == "" {
		w.found(finding.NoAssistant, part, finding.Fault, "the group has no assistant: nobody answers", "add assistant: NAME to the group in longshore.yaml, then: longshore reload")
		return
	}
	switch a := w.config.Assistants[g.Assistant]; a.Runtime {
	case config.Elsewhere:
		w.well("assistant "+g.Assistant, "%s lives elsewhere and fetches its messages at %s", g.Assistant, w.config.Remote.Listen)
	case config.OverSSH:
		w.well("assistant "+g.Assistant, "%s: agent %s, over ssh on %s as %s", g.Assistant, a.Agent, a.SSH.Host, a.SSH.User)
	default:
		w.well("assistant "+g.Assistant, "%s: agent %s, runtime %s", g.Assistant, a.Agent, a.Runtime)
	}
	now := time.Now().In(w.config.Zone(g))
	if hours := g.MaySend.Hours; !hours.Contain(now) {
		w.found(finding.Hours, part, finding.Note, fmt.Sprintf("files leave at %s only (may_send.hours), and it is %s; texts go out", hours, now.Format("15:04 MST")), "wait until then, or change may_send.hours of the group")
	}
	var rules []string
	if len(g.MaySend.Kinds) > 0 {
		rules = append(rules, "only files of kind "+strings.Join(g.MaySend.Kinds, ", "))
	}
	if g.MaySend.Most > 0 {
		rules = append(rules, "no file above "+media.Size(int64(g.MaySend.Most)))
	}
	if a := g.Approve; a.Files || a.First || a.Foreign || a.Above > 0 || len(a.Kinds) > 0 {
		rules = append(rules, "some files wait for an approval: longshore approvals list")
	}
	if len(rules) > 0 {
		w.well(part, "%s", strings.Join(rules, "; "))
	}
}

// answer prints the findings. If one of them is a fault, which stops the answer, it returns an error of the
// group or chat who, with exit code 4, as the doctor does.
func (w *why) answer(who, failed string) error {
	stopped := faults(w.findings) > 0
	err := w.env.Answer(map[string]any{"group": who, "answers": !stopped, "findings": w.findings}, w.print)
	if err == nil && stopped {
		err = &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf(failed, who)}
	}
	return err
}

func (w *why) print() error {
	return w.env.printMarked(w.findings, func(f finding.Finding) string {
		switch f.Severity {
		case finding.Fault:
			return "no"
		case finding.Fine:
			return "ok"
		}
		return "!"
	})
}

// whyUnknown answers for a group that only the running host has, or for a chat without a group
// in which somebody wrote. Otherwise it returns unknown, the error of the name.
func (e *env) whyUnknown(ctx context.Context, c *config.Config, wanted string, unknown error) error {
	s, err := operator.NewClient(operator.ControlDir(c.Layout())).Status(ctx)
	if err != nil {
		return unknown
	}
	if v := s.Cluster; v.Standby() {
		return askOwner(v)
	}
	w := &why{env: e, findings: slices.DeleteFunc(s.Findings, func(f finding.Finding) bool { return !strings.HasPrefix(f.Part, "configuration") })}
	if g, ok := servedAs(s, wanted, c.Groups); ok {
		w.found(finding.Groups, "group "+g.Folder, finding.Fault, fmt.Sprintf("the host still serves group %s, and %s has it no longer", g.Folder, e.Config), doctor.GoneRemedy)
		return w.answer(g.Folder, "group %s is gone from the file")
	}
	for _, one := range s.UnknownChats {
		if wanted != one.Chat && wanted != one.Channel+"/"+one.Chat {
			continue
		}
		w.found(finding.Chat, "channel "+one.Channel, finding.Fault, fmt.Sprintf("the chat %s is not registered: no group has it; %s came from there", one.Chat, media.Count(one.Messages, "message")),
			"longshore groups add "+finding.ShellWord(one.Chat)+"; or take the account out of that chat")
		return w.answer(one.Chat, "nobody answers in the chat %s")
	}
	return unknown
}

// servedAs returns the group that the running host serves under a folder, name or chat, and that the
// file no longer has.
func servedAs(s operator.Status, wanted string, file []groups.Group) (operator.Group, bool) {
	i := slices.IndexFunc(s.Groups, func(g operator.Group) bool {
		return (wanted == g.Folder || wanted == g.Name || wanted == g.Chat) && !slices.ContainsFunc(file, func(f groups.Group) bool { return f.Folder == g.Folder })
	})
	if i < 0 {
		return operator.Group{}, false
	}
	return s.Groups[i], true
}

// whyByOlder answers while the file is invalid, with the findings of the host that runs by a former
// file. It returns invalid, the error of the file, and prints nothing if no host runs.
func (e *env) whyByOlder(ctx context.Context, invalid error) error {
	return e.withLastGood(ctx, invalid, func(c operator.Control) error {
		w := &why{env: e}
		s, _ := c.Status(ctx)
		_, problems, _ := e.servable()
		w.findings = ofBoth(problems, s.Findings)
		if err := e.Answer(map[string]any{"answers": false, "findings": w.findings}, w.print); err != nil {
			return err
		}
		return invalid
	})
}
