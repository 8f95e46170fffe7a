package assistant

import (
	"context"
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
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Where members' files lie in the workspace, and how many of one message.
const (
	inboxDir  = "inbox"
	mostFiles = 32
)

// inboxPath is where the assistant sees them.
var inboxPath = path.Join(groups.Workspace, "group", inboxDir)

// keepFiles copies a message's files into the workspace's inbox. The
// workspace is the agent's: nothing in it is followed, overwritten or trusted
// (CVE-2026-31990 is what happens otherwise). A file that cannot be kept is
// returned with the reason, so that the assistant can say so.
func (m *Manager) keepFiles(ctx context.Context, c *conversation, attachments []channel.Attachment) []file {
	var files []file
	for i, a := range attachments {
		f := file{Name: safeName(a.Name), Kind: string(a.Kind), MIME: a.MIME, Size: a.Size}
		if i >= mostFiles {
			f.Missing = fmt.Sprintf("a message may bring %d files", mostFiles)
			files = append(files, f)
			continue
		}
		stored, size, err := keepFile(ctx, m.o.Layout.Workspace(c.group.Folder), f.Name, m.o.MaxFile, a)
		if err != nil {
			f.Missing = reason(err)
			m.o.Log.Warn("member's file not kept", "group", c.group.Folder, "file", f.Name, "error", err)
		} else {
			f.Path, f.Size = path.Join(inboxPath, stored), size
		}
		files = append(files, f)
	}
	return files
}

// missing is a reason that may be told to the assistant.
type missing string

func (e missing) Error() string { return string(e) }

// reason is what of an error may be told to the assistant: never a host path.
func reason(err error) string {
	var told missing
	switch {
	case errors.As(err, &told):
		return string(told)
	case errors.Is(err, syscall.ENOTDIR):
		return "inbox in the workspace is no directory; remove it and ask the member to send the file again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the host's disk is full"
	}
	return "the host could not keep it; ask the member to send it again"
}

// keepFile writes one file under a name that nothing had, and returns it.
func keepFile(ctx context.Context, workspace, name string, limit int64, a channel.Attachment) (stored string, size int64, err error) {
	tooLarge := missing(fmt.Sprintf("files may have up to %s", media.Size(limit)))
	if a.Size > limit {
		return "", 0, tooLarge
	}
	home, err := openDir(workspace)
	if err != nil {
		return "", 0, fmt.Errorf("open workspace: %w", err)
	}
	defer home.Close()
	if err := groups.MakeDir(home, inboxDir, 0o755, true); err != nil {
		return "", 0, fmt.Errorf("make inbox: %w", err)
	}
	inbox, err := groups.OpenDir(home, inboxDir)
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
	size, err = copyBytes(ctx, f, limit+1, a)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, err
	}
	if size > limit {
		return "", 0, tooLarge
	}
	stored, err = publish(inbox, tmp, name)
	return stored, size, err
}

func copyBytes(ctx context.Context, to *os.File, limit int64, a channel.Attachment) (int64, error) {
	if a.Open == nil {
		return 0, missing("the platform brought no content with it")
	}
	from, err := a.Open(ctx)
	if err != nil {
		return 0, errors.Join(missing("the platform did not hand over its content; ask the member to send it again"), err)
	}
	defer from.Close()
	size, err := io.Copy(to, io.LimitReader(from, limit))
	if err != nil {
		return size, fmt.Errorf("copy file: %w", err)
	}
	return size, to.Sync()
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

// maxName leaves room for a number within the 255 bytes that file systems take.
const maxName = 200

// safeName makes one harmless path component of a member's file name: no
// separators, no hidden file, nothing that acts on a terminal or reads
// backwards, nothing that agents take for instructions, not too long, with its
// extension.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		case r == utf8.RuneError, !unicode.IsPrint(r): // controls, bidi marks, line separators
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimRight(strings.TrimSpace(name), ". "), ".-~ ")
	if len(name) > maxName {
		ext := path.Ext(name)
		if len(ext) > 20 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:maxName-len(ext)], "") + ext
	}
	switch {
	case name == "":
		return "file"
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
