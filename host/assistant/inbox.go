package assistant

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// Where members' files lie in the workspace, and how many of one message.
const (
	inboxDir  = "inbox"
	mostFiles = 32
)

// inboxPath is where the assistant sees them.
var inboxPath = path.Join(mounts.Workspace, "group", inboxDir)

// takeFiles gives a record its files and those of the message that it answers, and
// returns those that are to be fetched. A file that will not be has the reason, so
// that the assistant can say so.
func (m *Manager) takeFiles(c *chat, r *record, in channel.Inbound) (wants []*want) {
	r.waits = map[int]bool{}
	attachments := in.Files
	if in.Quote != nil {
		attachments = slices.Concat(in.Files, in.Quote.Files)
	}
	for i, a := range attachments {
		f := file{Name: safeName(a.Name), Kind: string(a.Kind), MIME: a.MIME, Size: a.Size, Ref: a.Ref, Quoted: i >= len(in.Files)}
		switch known := c.arrived.name(a.Ref); {
		case i >= mostFiles:
			f.Missing = fmt.Sprintf("a message may bring %d files", mostFiles)
		case a.Ref == "":
			f.Missing = notKept
		case f.Quoted && known != "" && liesInInbox(m.o.Layout.Workspace(c.group.Folder), known):
			f.Path = inboxFile(known)
		case a.Size > m.o.MaxFile:
			f.Missing = string(tooLarge(m.o.MaxFile))
		case m.wanted(c)+len(wants) >= maxWants:
			f.Missing = tooManyWait
		default:
			f.Missing = notFetchedYet
			r.waits[i] = true
			wants = append(wants, &want{
				Message: r.Key, Index: i, Chat: r.Chat, Thread: r.Thread, ID: r.ID, From: r.From, Call: r.calls(), Ref: a.Ref, File: f, Kept: time.Now(), of: r,
			})
		}
		r.Files = append(r.Files, f)
	}
	return wants
}

// wanted is how many files of a group wait to be fetched.
func (m *Manager) wanted(c *chat) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(c.quick.wants) + len(c.patient.wants) + len(c.speech.wants)
}

// inboxFile is where the assistant sees a file of the inbox.
func inboxFile(name string) string { return path.Join(inboxPath, name) }

func tooLarge(limit int64) missing {
	return missing(fmt.Sprintf("files may have up to %s", media.Size(limit)))
}

// missing is a reason that may be told to the assistant.
type missing string

func (e missing) Error() string { return string(e) }

// reason is what of an error may be told to the assistant: never a host path.
func reason(err error) string {
	var told missing
	var known *channel.Error
	switch {
	case errors.As(err, &told):
		return string(told)
	case errors.As(err, &known) && known.Class == channel.Permanent:
		return known.Message + "; " + known.Hint
	case errors.Is(err, syscall.ENOTDIR):
		return "inbox in the workspace is no directory; remove it and ask the member to send the file again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the host's disk is full"
	case errors.Is(err, errFetch):
		return fmt.Sprintf("it could not be fetched from the platform in %d attempts; ask the member to send it again", fetchTries)
	}
	return "the host could not keep it; ask the member to send it again"
}

// keepFile writes one file under a name that nothing had, and returns that. The
// workspace is the agent's: nothing in it is followed, overwritten or trusted
// (CVE-2026-31990 is what happens otherwise).
func keepFile(workspace, name string, limit int64, from io.Reader) (stored string, size int64, err error) {
	home, err := openDir(workspace)
	if err != nil {
		return "", 0, fmt.Errorf("open workspace: %w", err)
	}
	defer home.Close()
	if err := safefs.MakeDir(home, inboxDir, 0o755, groups.Agent()); err != nil {
		return "", 0, fmt.Errorf("make inbox: %w", err)
	}
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return "", 0, fmt.Errorf("open inbox: %w", err)
	}
	defer inbox.Close()
	tmp := ".incoming-" + rand.Text()
	f, err := createNew(inbox, tmp)
	if err != nil {
		return "", 0, fmt.Errorf("write to inbox: %w", err)
	}
	defer inbox.Remove(tmp)
	if size, err = io.Copy(f, io.LimitReader(from, limit+1)); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, fmt.Errorf("copy file: %w", err)
	}
	if size > limit {
		return "", 0, tooLarge(limit)
	}
	stored, err = publish(inbox, tmp, name)
	return stored, size, err
}

// publish gives tmp the name, or the name with a number where that is taken.
// The name is reserved by creating it, so that nothing of the assistant's is
// replaced; a link that the assistant puts there meanwhile is replaced, not
// followed.
func publish(inbox *os.Root, tmp, name string) (string, error) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for i := 1; i <= 1000; i++ {
		try := name
		if i > 1 {
			try = fmt.Sprintf("%s-%d%s", stem, i, ext)
		}
		reserved, err := inbox.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("name file: %w", err)
		}
		if err := errors.Join(reserved.Close(), inbox.Rename(tmp, try)); err != nil {
			return "", fmt.Errorf("name file: %w", err)
		}
		return try, nil
	}
	return "", missing("too many files of that name lie in the inbox; remove some and ask the member to send it again")
}

// safeName is the name under which a member's file lies in the inbox: safe for
// every system, no option of a command line, and nothing that agents take for
// instructions.
func safeName(name string) string {
	name = media.SafeName(name)
	switch {
	case strings.ContainsAny(name[:1], "-~"):
		return "_" + name
	case instructs(name):
		return name + ".txt"
	}
	return name
}

// instructs says whether agents obey what a file of that name says as if the
// operator had written it, wherever they find one: Claude Code, gemini-cli and
// opencode read it as soon as they open another file beside it. A member's
// would speak to all turns to come.
func instructs(name string) bool {
	files := []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "GEMINI.md", "LONGSHORE.md", "CONTEXT.md"}
	return slices.ContainsFunc(files, func(file string) bool { return strings.EqualFold(file, name) })
}
