package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// deliverBlind queues a request for a host that writes no results, which is
// one of NanoClaw v1's kind. Such a host reads v1's message, and of files at
// best the one-file form that its forks have in common; what it does not know
// it deletes without a word. So each file is a request of its own, and each
// names its chat. The host takes them in no certain order.
func (s *Sender) deliverBlind(ctx context.Context, req ipc.Request, known Report, staged []string) (Report, error) {
	if _, err := os.Stat(filepath.Join(s.config.IPC, ipc.MessagesDir)); err != nil {
		s.unstage(staged)
		return Report{}, s.dropProblem(err)
	}
	if req.Chat == "" {
		s.unstage(staged)
		return Report{}, problem("no_chat", "this host must be told the chat, and nothing here says which it is",
			"the operator must set NANOCLAW_CHAT_JID for this program")
	}
	s.sweep()
	all := singly(req)
	for i, one := range all {
		id, err := s.client.EnqueueAs(context.WithoutCancel(ctx), one, cmp.Or(s.config.File, ipc.TypeFile))
		if err != nil {
			s.unstage(unqueued(staged, all[:i]))
			return Report{}, partly(s.dropProblem(err), i, len(all))
		}
		if i == 0 {
			known.ID = id
		}
	}
	return known.inWords(withoutReceipts, 0, s.config.Ask), nil
}

// mime is the type that a request names. A host that gives no receipts does
// not look at the bytes, and sends what has no type as a mere attachment.
func (s *Sender) mime(c checkedFile) string {
	if c.claim.MIME == "" && !s.receipts() {
		return c.info.MIME
	}
	return c.claim.MIME
}

// singly makes a request of each file.
func singly(req ipc.Request) []ipc.Request {
	if len(req.Files) < 2 {
		return []ipc.Request{req}
	}
	all := make([]ipc.Request, len(req.Files))
	for i, file := range req.Files {
		all[i] = req
		all[i].Files = []ipc.FileRef{file}
	}
	return all
}

// unqueued are the staged copies that none of the requests names.
func unqueued(staged []string, queued []ipc.Request) []string {
	var rest []string
	for _, rel := range staged {
		named := false
		for _, req := range queued {
			named = named || len(req.Files) == 1 && req.Files[0].Path == containerIPC+"/"+rel
		}
		if !named {
			rest = append(rest, rel)
		}
	}
	return rest
}

// partly tells that some of several requests were queued before the error.
func partly(err error, queued, of int) error {
	if queued == 0 {
		return err
	}
	why := err.Error()
	var p *Problem
	if errors.As(err, &p) {
		why = p.Message
	}
	return problem("partly_queued", fmt.Sprintf("%d of %d files were queued, then: %s", queued, of, why),
		"send the others alone once that is mended; do not send the first ones again")
}

// keepStaged is how long a host without receipts has to open a staged copy.
const keepStaged = 24 * time.Hour

// sweep removes old copies: a host that knows nothing of them never does.
func (s *Sender) sweep() {
	entries, err := os.ReadDir(filepath.Join(s.config.IPC, ipc.FilesDir))
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !ipc.ValidID(e.Name()) || time.Since(info.ModTime()) < keepStaged {
			continue
		}
		s.unstage([]string{strings.Join([]string{ipc.FilesDir, e.Name(), "*"}, "/")})
	}
}
