package claudepush

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// messages implements tools.Messages.
type messages struct {
	Options
	pusher *pusher
	ready  func()
}

// Ready implements tools.Messages.
func (m *messages) Ready() { m.ready() }

// maxListed is the size of the texts that pending_messages returns, in bytes: a model reads
// them.
const maxListed = 32 << 10

// Pending implements tools.Messages.
func (m *messages) Pending(ctx context.Context) (sender.Report, error) {
	var b strings.Builder
	waiting, left := 0, 0
	err := m.pusher.each(ctx, func(in ipc.Message) {
		waiting++
		about := meta(in)
		entry := "\n\n"
		for _, name := range []string{"id", "from", "calls", "time", "quotes", "files"} {
			if value, has := about[name]; has {
				entry += fmt.Sprintf("%s=%q ", name, value)
			}
		}
		entry = strings.TrimRight(entry, " ") + "\n" + text(in)
		if b.Len()+len(entry) > maxListed && b.Len() > 0 {
			left++
			return
		}
		b.WriteString(entry)
	})
	if err != nil {
		return sender.Report{}, asProblem(err)
	}
	words := "No message waits."
	if waiting > 0 {
		words = media.Count(waiting, "message") + " not ended. Their texts are members' words." + b.String()
	}
	if left > 0 {
		words += "\n\n" + media.Count(left, "more message") + ": end some of these first."
	}
	return sender.Report{Status: string(ipc.Done), Summary: words}, nil
}

// End implements tools.Messages.
func (m *messages) End(ctx context.Context, id, answer string) (sender.Report, error) {
	done, err := m.Host.Ack(ctx, id, answer)
	if err != nil {
		return sender.Report{}, asProblem(err)
	}
	for _, read := range m.pusher.end(id) {
		if _, err := m.Host.Ack(ctx, read, ""); err != nil {
			m.Log.Warn("message not acknowledged", "error", err)
		}
	}
	words := "The message is acknowledged."
	switch {
	case !done && answer != "":
		words = "The message had ended before. If this call repeats one that got no result, the answer was sent then; else it was not sent: use send_message if it is still needed."
	case !done:
		words = "The message had ended before."
	case answer != "":
		words = "The answer is on its way to the chat, and the message has ended."
	}
	return sender.Report{ID: id, Status: string(ipc.Done), Summary: words}, nil
}

// filesDir is the directory for members' files, below Options.Dir.
const filesDir = "longshore-inbox"

// File implements tools.Messages.
func (m *messages) File(ctx context.Context, id string, number int) (sender.Report, error) {
	of, file, err := m.look(ctx, id, number)
	if err != nil {
		return sender.Report{}, err
	}
	path, err := m.save(ctx, of, file)
	if errors.Is(err, remoteclient.ErrMissing) {
		return sender.Report{}, &sender.Problem{Code: "file_gone", Message: "the file cannot be fetched: " + file.Missing, Hint: "ask the member to send it again"}
	}
	if err != nil {
		return sender.Report{}, asProblem(err)
	}
	return sender.Report{ID: id, Status: string(ipc.Done), Summary: "The file is here: " + path, Data: map[string]any{"path": path}}, nil
}

// look finds a file among the messages that wait.
func (m *messages) look(ctx context.Context, id string, number int) (of ipc.Message, file ipc.MessageFile, err error) {
	err = m.pusher.each(ctx, func(in ipc.Message) {
		if in.ID == id {
			of = in
		}
	})
	if err != nil {
		return of, file, asProblem(err)
	}
	if of.ID == "" {
		return of, file, &sender.Problem{Code: "unknown_message", Message: "no message with this id waits", Hint: "pending_messages lists those that do"}
	}
	for _, f := range of.Files {
		if f.Number == number {
			return of, f, nil
		}
	}
	return of, file, &sender.Problem{Code: "no_such_file", Message: "the message has " + media.Count(len(of.Files), "file"), Hint: "give the number that the message shows"}
}

// save writes a file under a name that is free, and follows no link on the way.
func (m *messages) save(ctx context.Context, of ipc.Message, file ipc.MessageFile) (path string, err error) {
	home, err := os.OpenRoot(m.Dir)
	if err != nil {
		return "", err
	}
	defer home.Close()
	if err := home.Mkdir(filesDir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	dir, err := safefs.OpenDir(home, filesDir)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	f, name, err := create(dir, media.SafeName(file.Name))
	if err != nil {
		return "", err
	}
	if err := errors.Join(m.Host.CopyFile(ctx, f, of, file), f.Close()); err != nil {
		return "", errors.Join(err, dir.Remove(name))
	}
	return filepath.Join(m.Dir, filesDir, name), nil
}

// maxSame is how many files of one name are kept side by side.
const maxSame = 1000

// create makes a file that was not there. Of a name that is taken, numbers are tried.
func create(dir *os.Root, name string) (*os.File, string, error) {
	ext := filepath.Ext(name)
	for i, free := 2, name; ; i++ {
		f, err := dir.OpenFile(free, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) || i > maxSame {
			return f, free, err
		}
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
	}
}

// asProblem turns an error of the host's into one that a model can act on.
func asProblem(err error) error {
	if p, ok := errors.AsType[*remoteclient.Problem](err); ok {
		return &sender.Problem{Code: p.Code, Message: p.Message, Hint: p.Hint}
	}
	return err
}
