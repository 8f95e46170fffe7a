package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestAFailureAfterTheToolStoppedWaitingReachesTheAssistant(t *testing.T) {
	m := memory.New(memory.Options{})
	h := stage.StartMemory(t, stage.Echo, m)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	release := make(chan struct{})
	no := memory.Until(release)
	no.Err = &channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "the account is no member of the chat", Hint: "ask to be invited"}
	m.Next(no)

	client := ipc.NewClient(h.Layout.IPC("family", ""))
	id, err := client.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "are you there?"})
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, 1100*time.Millisecond) // longer than the tool waits
	if r, err := client.Wait(short, id, nil); err != nil || r.Status != ipc.Queued && r.Status != "" {
		t.Fatalf("the tool stopped waiting with %+v, %v", r, err)
	}
	stop()
	close(release)
	if r, err := client.Wait(ctx, id, nil); err != nil || r.Status != ipc.Failed || r.Code != "not_a_member" {
		t.Fatalf("the delivery ended as %+v, %v", r, err)
	}
	if err := m.Say(ctx, channel.Inbound{Chat: "mem:family", Text: "hello?"}); err != nil {
		t.Fatal(err)
	}
	seen, err := m.WaitShown(ctx, "mem:family", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{id, "no member of the chat", "ask to be invited", "hello?"} {
		if !strings.Contains(seen[0].Text, want) {
			t.Errorf("the assistant was not told %q; its prompt was %s", want, seen[0].Text)
		}
	}
}

func TestReceiptsOfMembersReachTheResult(t *testing.T) {
	m := memory.New(memory.Options{})
	h := stage.StartMemory(t, stage.Echo, m)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := ipc.NewClient(h.Layout.IPC("family", ""))
	id, err := client.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "good morning"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.Wait(ctx, id, nil)
	if err != nil || r.Status != ipc.Sent {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, state := range []channel.State{channel.StateRead, channel.StateDelivered} { // late ones do not take back
		if err := m.Report(ctx, "mem:family", r.MessageID, state); err != nil {
			t.Fatal(err)
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err = client.Status(id); err == nil && r.Status == ipc.Read {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the result stayed %+v, %v", r, err)
		}
	}
}
