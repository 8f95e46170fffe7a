package turns_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// elsewhere is a world whose assistants live elsewhere.
func elsewhere(t *testing.T, change func(*options), gs ...groups.Group) *world {
	t.Helper()
	return newWorld(t, func(o *options) {
		o.Elsewhere = true
		if change != nil {
			change(o)
		}
	}, gs...)
}

// fetches is one fetch of an assistant elsewhere, from the first message on.
func (w *world) fetches(folder, thread string) ipc.Inbox {
	w.t.Helper()
	in, _, err := w.m.Fetch(context.Background(), folder, thread, "")
	check(w.t, err)
	return in
}

// acks acknowledges a message, and reports whether it still waited.
func (w *world) acks(folder, thread, id, answer string) bool {
	w.t.Helper()
	done, err := w.m.Ack(context.Background(), folder, thread, id, answer)
	check(w.t, err)
	return done
}

func textsOf(in ipc.Inbox) (all []string) {
	for _, m := range in.Messages {
		all = append(all, m.Text)
	}
	return all
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestAnAssistantElsewhereGetsWhatCallsIt, in order, with what was said before, until it
// acknowledges that; nothing is started here.
func TestAnAssistantElsewhereGetsWhatCallsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := elsewhere(t, nil, g)
		defer w.run()()
		w.write("family", "1", "the ship is late")
		in, changed, err := w.m.Fetch(t.Context(), "family", "", "")
		check(t, err)
		equal(t, "before a call", textsOf(in), []string(nil))
		w.write("family", "2", "@Andy when does it\U000E0041 come?\x07")
		<-changed
		in = w.fetches("family", "")
		equal(t, "fetched", textsOf(in), []string{"the ship is late", "@Andy when does it come?"})
		if in.Waiting != 2 || in.Messages[0].Calls || !in.Messages[1].Calls || in.Messages[1].From != "Ann" || in.Messages[1].MessageID != "2" {
			t.Errorf("%+v", in)
		}
		behind, _, err := w.m.Fetch(t.Context(), "family", "", in.Messages[0].ID)
		check(t, err)
		equal(t, "behind the first", textsOf(behind), []string{"@Andy when does it come?"})
		if !w.acks("family", "", in.Messages[1].ID, "Tomorrow. <internal>I guess</internal>") || w.acks("family", "", in.Messages[1].ID, "Tomorrow.") {
			t.Error("a message is acknowledged once")
		}
		equal(t, "said", w.texts(), []string{"Tomorrow."})
		equal(t, "what was fetched and not acknowledged", textsOf(w.fetches("family", "")), []string{"the ship is late"})
		if !w.acks("family", "", in.Messages[0].ID, "") || w.kept("family") != 0 || w.runtime.next() != nil {
			t.Error("something is left, or was started")
		}
	})
}

// TestAMessageIsOfferedAgainAfterAKilledHost, under the same id, and answered once, also if
// the host dies between the answer and the end of the message.
func TestAMessageIsOfferedAgainAfterAKilledHost(t *testing.T) {
	w := elsewhere(t, nil)
	w.write("family", "1", "hello")
	id := w.fetches("family", "").Messages[0].ID
	w = w.restart()
	equal(t, "the id", w.fetches("family", "").Messages[0].ID, id)
	before := w.restart()
	if !before.acks("family", "", id, "hi") {
		t.Error("it does not wait")
	}
	w.said, w.keys = before.said, before.keys // the outbox has the answer, and the message has not ended
	w = w.restart()
	if !w.acks("family", "", id, "hi") || len(w.texts()) != 1 {
		t.Errorf("said: %q", w.texts())
	}
	w = w.restart()
	if len(w.fetches("family", "").Messages) != 0 || w.acks("family", "", id, "hi") || len(w.texts()) != 1 {
		t.Errorf("after the end: %q", w.texts())
	}
}

// TestAConversationSeesOnlyItsOwnMessages: ids of another thread or group are unknown.
func TestAConversationSeesOnlyItsOwnMessages(t *testing.T) {
	w := elsewhere(t, func(o *options) { o.Limits.Threads = 10 }, group("family"), group("crew"))
	w.writeIn("family", "t1", "1", "in a thread")
	w.write("family", "2", "in the chat")
	w.write("crew", "3", "elsewhere")
	id := w.fetches("family", "t1").Messages[0].ID
	equal(t, "of the chat", textsOf(w.fetches("family", "")), []string{"in the chat"})
	for _, other := range [][2]string{{"family", ""}, {"family", "t2"}, {"crew", ""}} {
		_, acked := w.m.Ack(t.Context(), other[0], other[1], id, "x")
		_, _, opened := w.m.FetchFile(other[0], other[1], id, 1)
		_, _, offered := w.m.Fetch(t.Context(), other[0], other[1], id)
		if !errors.Is(acked, turns.ErrNoMessage) || !errors.Is(opened, turns.ErrNoMessage) || !errors.Is(offered, turns.ErrCursor) {
			t.Errorf("%q: %v, %v, %v", other, acked, opened, offered)
		}
	}
	if len(w.texts()) != 0 {
		t.Errorf("said: %q", w.texts())
	}
	w.options.Elsewhere = false
	w.open()
	if _, _, err := w.m.Fetch(t.Context(), "family", "", ""); !errors.Is(err, turns.ErrNotElsewhere) {
		t.Error(err)
	}
}

// TestAChatHearsThatNobodyFetches within a minute, once, and what becomes of messages that
// wait for too long.
func TestAChatHearsThatNobodyFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := elsewhere(t, nil)
		defer w.run()()
		w.write("family", "1", "hello")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		w.write("family", "2", "is nobody there?")
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, "told", w.texts(), []string{"The assistant is not connected at the moment. Your message is kept for 24 hours and answered when the assistant is back."})
		if s := w.m.Status()[0]; s.State != "elsewhere" || s.Cause != "not_fetched" || s.Kept != 2 || !s.Fetched.IsZero() {
			t.Errorf("%+v", s)
		}
		w.fetches("family", "")
		if s := w.m.Status()[0]; s.Cause != "" || s.Fetched.IsZero() {
			t.Errorf("after a fetch: %+v", s)
		}
		time.Sleep(31 * time.Minute) // it fetches and does not acknowledge
		synctest.Wait()
		if s := w.m.Status()[0]; s.Cause != "not_fetched" {
			t.Errorf("without an acknowledgement: %+v", s)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if texts := w.texts(); len(texts) < 3 || !strings.Contains(texts[2], "2 messages were not answered") && !strings.Contains(texts[len(texts)-1], "not answered") || w.kept("family") != 0 {
			t.Errorf("in the end: %q, %d kept", texts, w.kept("family"))
		}
	})
}

// TestAMemberStopsAnAssistantElsewhere: what waits is not offered any more, and an answer to
// it is not sent.
func TestAMemberStopsAnAssistantElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := elsewhere(t, nil)
		defer w.run()()
		w.write("family", "1", "count to a million")
		time.Sleep(time.Second)
		id := w.fetches("family", "").Messages[0].ID
		w.write("family", "2", "/status")
		w.write("family", "3", "/stop")
		synctest.Wait()
		if w.acks("family", "", id, "one, two, three") || len(w.fetches("family", "").Messages) != 0 {
			t.Error("it is answered after /stop")
		}
		texts := strings.Join(w.texts(), "\n")
		has(t, texts, "It runs elsewhere and fetches its messages.", "One message is not answered yet.", "One message that waited will not be answered.")
	})
}

// TestAMembersFileIsFetchedByItsNumber with its exact bytes, and is gone when the message has
// ended, unless another one has it.
func TestAMembersFileIsFetchedByItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := elsewhere(t, nil)
		defer w.run()()
		send := func(id string, files ...channel.Attachment) string {
			t.Helper()
			check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: id, Chat: "web:family", From: "Ann", Time: time.Now(), Files: files}))
			time.Sleep(20 * time.Second)
			all := w.fetches("family", "").Messages
			return all[len(all)-1].ID
		}
		note := w.lay("note.txt", "buy rope")
		id := send("1", note, channel.Attachment{Info: media.Info{Name: "gone.txt"}})
		files := w.fetches("family", "").Messages[0].Files
		if len(files) != 2 || files[0].Number != 1 || files[0].Size != 8 || files[0].Missing != "" || files[1].Missing == "" {
			t.Fatalf("%+v", files)
		}
		f, about, err := w.m.FetchFile("family", "", id, 1)
		check(t, err)
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || string(b) != "buy rope" || about.Name != "note.txt" {
			t.Errorf("%q, %+v, %v", b, about, err)
		}
		for n, code := range map[int]string{0: "no_such_file", 2: "file_gone", 3: "no_such_file"} {
			_, _, err := w.m.FetchFile("family", "", id, n)
			if refused, ok := errors.AsType[*refusal.Error](err); !ok || refused.Code != code {
				t.Errorf("file %d: %v", n, err)
			}
		}
		inbox := filepath.Join(w.layout().Workspace("family"), "inbox")
		check(t, os.WriteFile(filepath.Join(inbox, "own.txt"), []byte("somebody's own"), 0o600))
		w.acks("family", "", id, "")
		if left, err := os.ReadDir(inbox); err != nil || len(left) != 1 || left[0].Name() != "own.txt" {
			t.Errorf("left: %v, %v", left, err)
		}
		if _, _, err := w.m.FetchFile("family", "", id, 1); !errors.Is(err, turns.ErrNoMessage) {
			t.Error(err)
		}
	})
}

// TestAFileThatComesLateIsANoticesOwn: it is fetched by the notice, whatever became of its
// message.
func TestAFileThatComesLateIsANoticesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		w := elsewhere(t, func(o *options) {
			o.Fetch = func(ctx context.Context, _ string, _ channel.FileRef) (io.ReadCloser, error) {
				select {
				case <-slow:
					return io.NopCloser(strings.NewReader("late")), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		defer w.run()()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: "1", Chat: "web:family", From: "Ann", Text: "see this", Time: time.Now(), Files: []channel.Attachment{w.lay("late.txt", "late")}}))
		time.Sleep(20 * time.Second)
		first := w.fetches("family", "")
		if len(first.Messages) != 1 || first.Messages[0].Files[0].Missing == "" {
			t.Fatalf("%+v", first)
		}
		w.acks("family", "", first.Messages[0].ID, "")
		_, changed, err := w.m.Fetch(t.Context(), "family", "", first.Cursor)
		check(t, err)
		close(slow)
		<-changed
		in, _, err := w.m.Fetch(t.Context(), "family", "", first.Cursor)
		if err != nil || len(in.Messages) != 1 || in.Messages[0].Kind != "notice" || len(in.Messages[0].Files) != 1 || in.Messages[0].Files[0].Size != 4 {
			t.Errorf("%+v, %v", in, err)
		}
	})
}

// TestALongInboxComesInPieces, each bounded, and nothing twice or left out.
func TestALongInboxComesInPieces(t *testing.T) {
	w := elsewhere(t, nil)
	for i := range 60 {
		w.write("family", string(rune('A'+i)), strings.Repeat(string(rune('A'+i)), 20<<10))
	}
	after, got := "", ""
	for {
		in, _, err := w.m.Fetch(t.Context(), "family", "", after)
		check(t, err)
		if len(in.Messages) == 0 {
			break
		}
		size := 0
		for _, m := range in.Messages {
			size += len(m.Text)
			got += m.MessageID
		}
		if size > 128<<10 {
			t.Errorf("%d bytes at once", size)
		}
		after = in.Cursor
	}
	want := ""
	for i := range 60 {
		want += string(rune('A' + i))
	}
	equal(t, "all messages", got, want)
}

// TestAnAnswerWaitsForRoom: without room in the outbox it is refused, and its message waits.
func TestAnAnswerWaitsForRoom(t *testing.T) {
	full := errors.New("full")
	w := elsewhere(t, func(o *options) { o.Room = func(string) error { return full } })
	w.write("family", "1", "hello")
	id := w.fetches("family", "").Messages[0].ID
	if _, err := w.m.Ack(t.Context(), "family", "", id, "hi"); !errors.Is(err, turns.ErrNoRoom) || len(w.texts()) != 0 {
		t.Errorf("%v, said %q", err, w.texts())
	}
	full = nil
	if !w.acks("family", "", id, "hi") || len(w.texts()) != 1 {
		t.Errorf("said %q", w.texts())
	}
}

// TestAMessageIsReactedToWhenItIsFetched, and the reaction is taken back when it ends.
func TestAMessageIsReactedToWhenItIsFetched(t *testing.T) {
	var reactions []string
	g := group("family")
	g.Ack = "👀"
	w := elsewhere(t, func(o *options) {
		o.React = func(_ context.Context, _, _, target, emoji, _ string) error {
			reactions = append(reactions, target+emoji)
			return nil
		}
	}, g)
	w.write("family", "1", "hello")
	id := w.fetches("family", "").Messages[0].ID
	w.fetches("family", "")
	w.acks("family", "", id, "")
	equal(t, "reactions", reactions, []string{"1👀", "1"})
}

// FuzzInboxID: nobody makes up an id that counts.
func FuzzInboxID(f *testing.F) {
	f.Add("", "")
	f.Add("00000000000000000001-00", "t")
	state := filepath.Join(f.TempDir(), "state")
	layout := groups.Layout{State: state}
	g := group("family")
	registry, err := groups.NewRegistry([]groups.Group{g})
	if err = errors.Join(err, layout.Prepare([]groups.Group{g})); err != nil {
		f.Fatal(err)
	}
	w := &world{options: options{Elsewhere: true}, keys: map[string]bool{}}
	w.registry.Store(registry)
	m, err := turns.New(turns.Options{State: statetest.Open(f, state), Layout: layout, Chat: host{w}, Plans: host{w}, Platforms: host{w}})
	if err == nil {
		err = m.Receive(f.Context(), "family", channel.Inbound{ID: "1", Chat: g.Chat, Text: "hello"})
	}
	in, _, offered := m.Fetch(f.Context(), "family", "", "")
	if err = errors.Join(err, offered); err != nil || len(in.Messages) != 1 {
		f.Fatal(in, err)
	}
	f.Add(in.Messages[0].ID, "other")
	f.Add(in.Messages[0].ID[:20], "")
	f.Fuzz(func(t *testing.T, id, thread string) {
		if id == in.Messages[0].ID && thread == "" {
			return
		}
		if _, err := m.Ack(t.Context(), "family", thread, id, "x"); !errors.Is(err, turns.ErrNoMessage) {
			t.Errorf("%q in %q is acknowledged: %v", id, thread, err)
		}
		if _, _, err := m.Fetch(t.Context(), "family", thread, id); id != "" && !errors.Is(err, turns.ErrCursor) {
			t.Errorf("%q in %q is a cursor: %v", id, thread, err)
		}
	})
}
