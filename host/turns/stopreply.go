package turns

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/media"
)

const nothingRuns = "Nothing is running here."

// maxNamed is how many files an answer lists by name.
const maxNamed = 5

// stopReply reports what an order has done.
func (m *Manager) stopReply(c *chat, r *record) string {
	var b strings.Builder
	if len(r.Order.Stopped) > 0 {
		b.WriteString("The assistant was stopped.")
		m.writeSent(&b, c, r.Order.Stopped)
	}
	switch n := r.Order.Waited; {
	case n == 1:
		b.WriteString(" One message that waited will not be answered.")
	case n > 1:
		fmt.Fprintf(&b, " %d messages that waited will not be answered.", n)
	}
	if r.Kind == inbound.KindNew {
		b.WriteString(" A new conversation begins: the assistant no longer remembers what was said before.")
		if r.Order.More {
			b.WriteString(" It has not read what you wrote behind /new; please write that again.")
		}
	}
	return strings.TrimSpace(b.String())
}

// writeSent lists what turns had sent before they were stopped.
func (m *Manager) writeSent(b *strings.Builder, c *chat, turns []inbound.Stopped) {
	var done, open []string
	queued := 0
	for _, t := range turns {
		queued = max(queued, m.requestsSince(c, t.Started)) // the queue is the group's
		arrived, underWay, err := m.o.Chat.SentFiles(c.group.Folder, t.Thread, t.Started)
		if err != nil {
			m.o.Log.Error("look what a stopped turn has sent", "group", c.group.Folder, "error", err)
			b.WriteString(" What it had sent before stays.")
			return
		}
		done, open = append(done, arrived...), append(open, underWay...)
	}
	if len(done)+len(open)+queued == 0 {
		b.WriteString(" It had sent nothing.")
		return
	}
	if len(done) > 0 {
		b.WriteString(" Sent already: " + things(done) + ".")
	}
	if len(open) > 0 {
		b.WriteString(" Still on the way, and not called back: " + things(open) + ".")
	}
	if queued > 0 {
		fmt.Fprintf(b, " %s that it had asked for just before may still arrive.", media.Count(queued, "message"))
	}
}

// things lists files by name, and counts texts, which have none.
func things(all []string) string {
	var names []string
	files, texts := 0, 0
	for _, name := range all {
		switch {
		case name == "":
			texts++
		case files < maxNamed:
			names = append(names, "`"+strings.ReplaceAll(media.Printable(name), "`", "'")+"`")
			files++
		default:
			files++
		}
	}
	if more := files - len(names); more > 0 {
		names = append(names, media.Count(more, "other file"))
	}
	if texts > 0 {
		names = append(names, media.Count(texts, "text"))
	}
	return strings.Join(names, ", ")
}

// statusText says which assistant answers in a chat, and what it waits for.
func (m *Manager) statusText(g groups.Group, at *conversation, whole bool) string {
	lines := []string{m.whoAnswers(g)}
	if g.Trigger != "" {
		lines = append(lines, fmt.Sprintf("It answers messages with `%s` in them, and replies to its own.", strings.ReplaceAll(g.Trigger, "`", "'")))
	} else {
		lines = append(lines, "It answers every message.")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	said := false
	for _, t := range m.all {
		if t.chat != at.chat || !whole && t.thread != at.thread {
			continue
		}
		if state := m.stateText(t); state != "" {
			if t.thread != at.thread {
				state = "In another thread: " + state
			}
			lines, said = append(lines, state), true
		}
		if len(lines) > maxNamed {
			break
		}
	}
	if !said {
		lines = append(lines, "It waits for a message.")
	}
	return strings.Join(lines, "\n")
}

// whoAnswers names a group's assistant, with program and model if the host knows them.
func (m *Manager) whoAnswers(g groups.Group) string {
	plan, err := m.o.Plans.Plan(g)
	if m.o.Plans.Elsewhere(g) {
		return cmp.Or(plan.Name, "An assistant") + " answers here. It runs elsewhere and fetches its messages."
	}
	if err != nil {
		return "The assistant of this chat cannot be started; the operator finds the reason in the host's log."
	}
	who := cmp.Or(plan.Name, "An assistant")
	with := plan.Agent
	if plan.Model != "" {
		with += ", model " + plan.Model
	}
	if with == "" {
		return who + " answers here."
	}
	return fmt.Sprintf("%s answers here (%s).", who, media.Printable(with))
}

// stateText describes what a conversation's assistant is doing; empty if it rests. The
// caller holds mu.
func (m *Manager) stateText(t *conversation) string {
	waiting := 0
	for range calling(t.kept) {
		waiting++
	}
	also := ""
	if waiting > 0 {
		also = fmt.Sprintf(" %s.", media.Count(waiting, "further message")+" wait")
		if waiting == 1 {
			also = " One further message waits."
		}
	}
	now := time.Now()
	switch {
	case t.phase == running && !t.resting && !t.ending:
		return "It has been working for " + lasted(now.Sub(t.since)) + "." + troubleText(t.cause) + also
	case t.phase == queued:
		return fmt.Sprintf("It waits for its turn, with %s before it.", media.Count(m.before(t), "conversation"))
	case t.failures > 0 && t.notBefore.After(now):
		return "The last attempt failed; the next one begins in " + lasted(t.notBefore.Sub(now)) + "." + troubleText(t.cause) + also
	case t.failures > 0:
		return "The last attempt failed." + troubleText(t.cause) + also
	case waiting > 0 && t.fetches():
		return fetchText(t, waiting)
	case waiting > 0:
		return "It is about to begin."
	}
	return ""
}

// fetchText describes what waits for an assistant elsewhere. The caller holds Manager.mu.
func fetchText(t *conversation, waiting int) string {
	since := "It has not asked for messages since the host's start."
	if !t.fetched.IsZero() {
		since = "It last asked for messages " + lasted(time.Since(t.fetched)) + " ago."
	}
	if waiting == 1 {
		return since + " One message is not answered yet."
	}
	return fmt.Sprintf("%s %s are not answered yet.", since, media.Count(waiting, "message"))
}

// troubleText describes why an assistant cannot answer.
func troubleText(c cause.Cause) string {
	if c == "" {
		return ""
	}
	return " " + phrase(c) + "."
}

// before counts the conversations that wait ahead of c. The caller holds mu.
func (m *Manager) before(t *conversation) int {
	for i, q := range m.queue {
		if q == t {
			return i
		}
	}
	return 0
}

// lasted formats a length of time for people.
func lasted(d time.Duration) string {
	switch {
	case d < time.Minute:
		return media.Count(max(1, int(d.Round(time.Second)/time.Second)), "second")
	case d < time.Hour:
		return media.Count(int(d/time.Minute), "minute")
	}
	return media.Count(int(d/time.Hour), "hour")
}

// helpText lists the words that this member may use.
func (m *Manager) helpText(ctx context.Context, g groups.Group, in *channel.Inbound) (string, error) {
	lines := []string{"What you can write here:"}
	for _, w := range []struct {
		word word
		does string
	}{
		{stopWord, "ends what the assistant is doing, and says what it has sent"},
		{newWord, "begins a new conversation"},
		{statusWord, "says who answers here, and what that is doing"},
		{helpWord, "shows this list"},
	} {
		ok, err := m.may(ctx, g, w.word.right(), in)
		if err != nil {
			return "", err
		}
		if ok {
			lines = append(lines, fmt.Sprintf("- `/%s` %s", w.word, w.does))
		}
	}
	return strings.Join(lines, "\n"), nil
}
