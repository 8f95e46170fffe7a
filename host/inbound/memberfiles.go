package inbound

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

// Where members' files lie in the workspace, and how many of one message are kept.
const (
	inboxDir  = "inbox"
	mostFiles = 32
)

// inboxPath is the inbox's path in the assistant's container.
var inboxPath = path.Join(mounts.Workspace, "group", inboxDir)

// Take gives a message its files and those of the message it answers, and returns the files to
// fetch, see Add. A file that will not be fetched gets the reason, for the assistant to report.
func (b *Inbox) Take(m *Message, in channel.Inbound) (wants []*PendingFile) {
	attachments := in.Files
	if in.Quote != nil {
		attachments = slices.Concat(in.Files, in.Quote.Files)
	}
	for i, a := range attachments {
		f := File{Name: safeName(a.Name), Kind: string(a.Kind), MIME: a.MIME, Size: a.Size, Ref: a.Ref, Quoted: i >= len(in.Files)}
		known := ""
		if f.Quoted {
			known = b.store.fetchedName(a.Ref)
		}
		switch {
		case i >= mostFiles:
			f.Missing = fmt.Sprintf("a message may bring %d files", mostFiles)
		case a.Ref == "":
			f.Missing = NotKept
		case known != "" && liesInInbox(b.workspace(), known):
			f.Path = inboxFile(known)
		case a.Size > b.f.MaxFile:
			f.Missing = string(tooLarge(b.f.MaxFile))
		case b.pendingCount()+len(wants) >= maxPending:
			f.Missing = tooManyWait
		default:
			f.Missing = notFetchedYet
			wants = append(wants, &PendingFile{
				Message: m.Key, Index: i, Chat: m.Chat, Thread: m.Thread, ID: m.ID, From: m.From, Call: m.Calls(), Ref: a.Ref, File: f, Kept: time.Now(), Of: m,
			})
		}
		m.Files = append(m.Files, f)
	}
	return wants
}

// inboxFile is the path of a file of the inbox in the assistant's container.
func inboxFile(name string) string { return path.Join(inboxPath, name) }

func tooLarge(limit int64) missing {
	return missing(fmt.Sprintf("files may have up to %s", media.Size(limit)))
}

// missing is a reason that the assistant may read.
type missing string

func (e missing) Error() string { return string(e) }

// reason is the part of an error that the assistant may read: never a host path.
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

// openInbox opens a workspace's inbox, and makes it if need be.
func openInbox(workspace string, make bool) (*os.Root, error) {
	home, err := safefs.OpenDirAt(workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer home.Close()
	if make {
		if err := safefs.MakeDir(home, inboxDir, 0o755, groups.Agent()); err != nil {
			return nil, fmt.Errorf("make inbox: %w", err)
		}
	}
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	return inbox, nil
}

// keepFile writes one file under a new name and returns the name. The workspace belongs to
// the agent, so keepFile follows, overwrites and trusts nothing in it (CVE-2026-31990
// shows what happens otherwise).
func keepFile(workspace, name string, limit int64, from io.Reader) (stored string, size int64, err error) {
	inbox, err := openInbox(workspace, true)
	if err != nil {
		return "", 0, err
	}
	defer inbox.Close()
	tmp := ".incoming-" + rand.Text()
	f, err := safefs.CreateNew(inbox, tmp, groups.Agent())
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

// publish renames tmp to name, or to name with a number if name is taken. It reserves the
// name by creating it, so that no file of the assistant's is replaced. A link that the
// assistant puts there meanwhile is replaced, not followed.
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

// safeName is the name of a member's file in the inbox: safe on every system, not an
// option on a command line, and not a name that agents read as instructions.
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

// instructs reports whether agents obey a file of that name as if the operator had written
// it. Claude Code, gemini-cli and opencode read such a file as soon as they open another
// file beside it. A member's file would then control all later turns.
func instructs(name string) bool {
	files := []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "GEMINI.md", "LONGSHORE.md", "CONTEXT.md"}
	return slices.ContainsFunc(files, func(file string) bool { return strings.EqualFold(file, name) })
}
