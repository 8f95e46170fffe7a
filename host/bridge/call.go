package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// Call is a request that the host answers itself; nothing of it is sent.
type Call struct {
	Key     string // the same if the request is seen again after a crash
	From    groups.Asker
	Chat    groups.Address
	Thread  string // of the asking turn; empty: the chat itself
	Request ipc.Request
}

// Answerer answers calls: serve's answers.
type Answerer interface {
	// Answer does what the call asks for and returns an object for ipc.Result.Data. It
	// may be called again with the same Key, also by a later host, and then does
	// nothing twice. An error is a refusal, which AsRefusal finds, or passes.
	Answer(ctx context.Context, c Call) (data any, err error)
}

// answer answers a call, and removes it from the queue once its result is written. The error
// is as for accept.
func (b *Bridge) answer(ctx context.Context, batch *spool.Batch, it *spool.Item, key string, assistants Assistants) error {
	data, err := b.call(ctx, it, key, assistants)
	if err != nil {
		return err
	}
	if err := b.Spool.WriteResult(batch.Folder, ipc.Result{ID: it.ID, Status: ipc.Done, Data: data, Time: time.Now()}); err != nil {
		return err
	}
	batch.Remove(it)
	return nil
}

func (b *Bridge) call(ctx context.Context, it *spool.Item, key string, assistants Assistants) (json.RawMessage, error) {
	dst, err := b.authorize(it.Folder, it.Request)
	dst.noteIn(&it.Found)
	if err != nil {
		return nil, err
	}
	if b.Answers == nil {
		return nil, notSupported("this host does not answer requests of this type")
	}
	c := Call{Key: key, From: dst.from, Thread: dst.thread(it.Request), Request: it.Request, Chat: dst.address()}
	if thread, bound := dst.from.Bound(); bound { // also of a call that names another chat
		c.Thread = thread
	}
	if c.Thread == "" && it.Request.Turn != ipc.NoTurn {
		c.Thread, _ = assistants.ThreadOf(it.Folder, it.Request.Turn, it.ModTime)
	}
	answer, err := b.Answers.Answer(ctx, c)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err == nil && len(data) > ipc.MaxData {
		err = &ipc.Refusal{Code: "answer_too_large", Message: fmt.Sprintf("the answer has %d bytes; at most %d are given", len(data), ipc.MaxData), Hint: "ask for less"}
	}
	return data, err
}
