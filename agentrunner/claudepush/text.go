package claudepush

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// escape keeps a member's words from ending the element in which the session shows them.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// notification is a message in the form that the session gets.
func notification(m ipc.Message) map[string]any {
	return map[string]any{"content": text(m), "meta": meta(m)}
}

// meta is what Claude Code shows as attributes of a message. It takes letters, digits and
// underscores in their names only.
func meta(m ipc.Message) map[string]string {
	calls := "no"
	if m.Calls {
		calls = "yes"
	}
	all := map[string]string{"id": m.ID, "kind": m.Kind, "calls": calls, "time": m.Time.UTC().Format(time.RFC3339)}
	for name, value := range map[string]string{"message_id": m.MessageID, "from": m.From, "sender_id": m.SenderID, "event": m.Event, "target": m.Target, "thread": m.Thread, "author": m.Author} {
		if value != "" {
			all[name] = escape.Replace(media.Printable(value))
		}
	}
	if m.Forwarded {
		all["forwarded"] = "yes"
	}
	if m.Quote != nil {
		all["quotes"] = "yes"
	}
	if n := len(m.Files); n > 0 {
		all["files"] = strconv.Itoa(n)
	}
	return all
}

// text is what a message says, with what it quotes and the files that it has. A member's
// words stand in the same text as those about quote and files, so a member can imitate the
// latter: meta says whether there are any. The tools believe only what the host says.
func text(m ipc.Message) string {
	var b strings.Builder
	b.WriteString(escape.Replace(m.Text))
	if q := m.Quote; q != nil {
		who := "a message of " + q.From
		if q.Own {
			who = "your message"
		} else if q.Unverified {
			who += ", as the writer claims"
		}
		if q.Forwarded {
			who += ", forwarded"
		}
		if q.Elsewhere {
			who += ", of another chat"
		}
		part := ""
		if q.Selected != "" {
			part = "; the part: " + q.Selected
		}
		fmt.Fprintf(&b, "\n[It answers %s: %s]", escape.Replace(who), escape.Replace(q.Text+part))
	}
	for _, f := range m.Files {
		fmt.Fprintf(&b, "\n[File %d: %s", f.Number, escape.Replace(media.Printable(f.Name)))
		if f.Quoted {
			b.WriteString(", of the message that is answered")
		}
		if f.Missing != "" {
			fmt.Fprintf(&b, "; it cannot be fetched: %s]", escape.Replace(f.Missing))
			continue
		}
		fmt.Fprintf(&b, ", %s, %s; message_file brings it here]", escape.Replace(media.Printable(f.MIME)), media.Size(f.Size))
		if f.Transcript != "" {
			fmt.Fprintf(&b, "\n[What a machine heard in file %d: %s]", f.Number, escape.Replace(f.Transcript))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}
