package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// deliverBlind queues a request for a host that writes no results, as NanoClaw v1's
// does. Such a host reads v1's message. Of files it reads at best the form with one
// file that v1's forks share, and it deletes what it does not know without an error.
// So each file becomes a request of its own, and each names its chat. The host does
// not take them in a certain order.
func (s *Sender) deliverBlind(ctx context.Context, req ipc.Request, known Report, staged []string) (Report, error) {
	if _, err := os.Stat(filepath.Join(s.config.IPC, ipc.MessagesDir)); err != nil {
		s.unstage(staged)
		return Report{}, s.dropProblem(err)
	}
	if req.Chat == "" {
		s.unstage(staged)
		return Report{}, problem("no_chat", "a request to this host must name its chat, and no chat is configured here",
			"the operator must set NANOCLAW_CHAT_JID for this program")
	}
	s.queue.sweep()
	all := singly(req)
	for i, one := range all {
		id, err := s.client.Enqueue(context.WithoutCancel(ctx), one, cmp.Or(s.config.File, ipc.TypeFile), "")
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

// mime returns the type that a request names. A host without receipts does not
// examine the bytes, and sends a file without a type as a plain attachment.
func (s *Sender) mime(c checkedFile) string {
	if c.claim.MIME == "" && !s.receipts() {
		return c.info.MIME
	}
	return c.claim.MIME
}

// singly returns one request for each file.
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

// unqueued returns the staged copies that none of the requests names.
func unqueued(staged []string, queued []ipc.Request) []string {
	var rest []string
	for _, path := range staged {
		named := false
		for _, req := range queued {
			named = named || len(req.Files) == 1 && req.Files[0].Path == path
		}
		if !named {
			rest = append(rest, path)
		}
	}
	return rest
}

// partly says in the error that some of several requests were queued before it.
func partly(err error, queued, of int) error {
	if queued == 0 {
		return err
	}
	why := err.Error()
	if p, ok := errors.AsType[*Problem](err); ok {
		why = p.Message
	}
	return problem("partly_queued", fmt.Sprintf("%d of %d files were queued, then: %s", queued, of, why),
		"after that is fixed, send only the remaining files; do not send the first ones again")
}

// keepStaged is how long a staged copy stays for a host without receipts, which may
// not have opened it yet.
const keepStaged = 24 * time.Hour
