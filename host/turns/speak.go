package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// errMoved keeps an answer out of a chat in which nobody asked for it.
var errMoved = errors.New("the group has another chat now")

// sayTries is how often the host tries to record a message to the chat.
const sayTries = 3

// tell enqueues a message of the host, and say an answer of the assistant, as Chat calls them. The
// log has tell's error, too.
func (m *Manager) tell(ctx context.Context, c *conversation, text, key string) error {
	err := m.enqueue(ctx, c, text, key, m.o.Chat.Tell)
	if err != nil {
		c.logger(m.o.Log).Error("chat not told", "error", err)
	}
	return err
}

// answer is tell where nothing else depends on it.
func (m *Manager) answer(ctx context.Context, at *conversation, text, key string) {
	_ = m.tell(ctx, at, text, key)
}

func (m *Manager) say(ctx context.Context, c *conversation, text, key string) error {
	return m.enqueue(ctx, c, text, key, m.o.Chat.Say)
}

// enqueue passes a text to the outbox. The outbox is local, so the host's last messages are
// kept even while the host ends.
func (m *Manager) enqueue(ctx context.Context, c *conversation, text, key string, put func(ctx context.Context, folder, thread, text, key string) error) (err error) {
	if c.configured().Address() != c.group.Address() {
		return errMoved
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for try := range sayTries {
		if try > 0 {
			wake.Sleep(ctx, time.Duration(try)*200*time.Millisecond)
		}
		if err = put(last, c.group.Folder, c.thread, text, key); err == nil {
			return nil
		}
	}
	return fmt.Errorf("say: %w", err)
}
