package whatsapp

import (
	"context"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	receiveParallel = 4               // chats at once
	receiveAgain    = 5 * time.Second // after the Inbox did not keep a message
	receiveGiveUp   = 24 * time.Hour  // after which such a message is dropped
)

// backlog hands the chats' messages on, some chats at once, each in order.
type backlog struct {
	s    *session
	in   channel.Inbox
	wg   sync.WaitGroup
	room chan struct{} // one token for each chat that is served at once

	mu   sync.Mutex
	busy map[groups.JID]bool
}

// passInbound hands what is in the ledger to the Inbox until ctx is done.
func (s *session) passInbound(ctx context.Context, in channel.Inbox) {
	b := &backlog{s: s, in: in, room: make(chan struct{}, receiveParallel), busy: map[groups.JID]bool{}}
	defer b.wg.Wait()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-again.C:
		}
		chats, err := s.ledger.openChats(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("look for members' messages", "error", err)
		}
		for _, chat := range chats {
			b.serve(ctx, chat)
		}
		if len(chats) > 0 || err != nil {
			again.Reset(receiveAgain)
		}
	}
}

// serve starts to serve a chat, unless it is being served.
func (b *backlog) serve(ctx context.Context, chat groups.JID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[chat] {
		return
	}
	b.busy[chat] = true
	b.wg.Go(func() {
		defer func() {
			b.mu.Lock()
			delete(b.busy, chat)
			b.mu.Unlock()
			poke(b.s.wake) // what came in meanwhile
		}()
		select {
		case b.room <- struct{}{}:
			defer func() { <-b.room }()
			if b.drain(ctx, chat) {
				return
			}
			timer := time.NewTimer(receiveAgain) // not kept: the chat rests
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	})
}

// drain hands over a chat's messages; false when one was not kept.
func (b *backlog) drain(ctx context.Context, chat groups.JID) bool {
	for ctx.Err() == nil {
		m, err := b.s.ledger.nextInbound(ctx, chat)
		if err != nil || m == nil {
			return err == nil
		}
		if err := b.in.Receive(ctx, b.s.inbound(ctx, m)); err != nil {
			if ctx.Err() != nil || time.Since(m.received) < receiveGiveUp {
				b.s.log.Info("a member's message waits", "chat", chat, "error", err)
				return false
			}
			b.s.log.Error("a member's message is given up", "chat", chat, "message", m.id, "error", err)
		}
		if err := b.s.ledger.doneInbound(context.WithoutCancel(ctx), m.seq); err != nil {
			b.s.log.Error("settle a member's message", "chat", chat, "error", err)
			return false
		}
	}
	return true
}
