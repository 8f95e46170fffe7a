package turns_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/media"
)

// kinds are the constants of channel.Kind, by their names.
func kinds(t *testing.T) map[string]channel.Kind {
	t.Helper()
	all := map[string]channel.Kind{}
	file, err := parser.ParseFile(token.NewFileSet(), "../channel/inbound.go", nil, 0)
	check(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Kind" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			check(t, err)
			all[spec.Names[0].Name] = channel.Kind(value)
		}
		return true
	})
	if len(all) < 11 {
		t.Fatalf("only %d kinds were found", len(all))
	}
	return all
}

// What a member does has its use by its kind: it starts a turn, or the next turn gets it,
// or nobody does. Nothing that a turn gets is empty. A kind that this test does not name
// fails it.
func TestEachKindHasItsUse(t *testing.T) {
	type use string
	const (
		starts  use = "starts a turn if the assistant is called"
		answers use = "starts a turn as an answer to the assistant"
		joins   use = "joins the next turn"
		ignored use = "ignored"
	)
	uses := map[string]use{
		"KindMessage": starts, "KindLocation": starts, "KindContact": starts, "KindPoll": starts, "KindSticker": answers,
		"KindEdit": joins, "KindDeletion": joins, "KindReaction": joins, "KindVote": joins, "KindNote": joins, "KindMembership": ignored,
	}
	for name, kind := range kinds(t) {
		want, ok := uses[name]
		if !ok {
			t.Errorf("%s is not in this test", name)
			continue
		}
		for _, direct := range []bool{false, true} {
			for _, text := range []string{" \u2069\u200b", "words", "@Andy, words"} {
				for _, answer := range []string{"", "own", "elsewhere"} {
					t.Run(fmt.Sprintf("%s/direct %t/%q/answers %s", name, direct, text, answer), func(t *testing.T) {
						calls := want == starts && (direct || strings.Contains(text, "@Andy")) || want == answers && answer == "own"
						received(t, channel.Inbound{Kind: kind, Direct: direct, Text: text, Quote: answered(answer), Target: "7", Emoji: "👍", Choices: []string{"a"}}, calls, want != ignored)
					})
				}
			}
		}
	}
}

func answered(what string) *channel.Quote {
	if what == "" {
		return nil
	}
	return &channel.Quote{ID: "6", From: "Andy", Text: "a question", Own: true, Elsewhere: what == "elsewhere"}
}

// received checks whether what a member does starts a turn, and whether a turn gets it,
// and never empty.
func received(t *testing.T, in channel.Inbound, starts, gets bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, nil, g)
		end := w.run()
		defer end()
		in.ID, in.From, in.Sender = "what is tested", "Ann", "a"
		w.does(in)
		a := w.runtime.next()
		if started := a != nil; started != starts {
			t.Fatalf("it started a turn: %t, want %t", started, starts)
		}
		if a == nil {
			w.write("family", "call", "@Andy so?")
			a = w.runtime.next()
		}
		empty := regexp.MustCompile(`("|</quoted_message)>[\s\x{200b}\x{2066}-\x{2069}]*</message>`).MatchString(a.input.Prompt)
		if got := strings.Contains(a.input.Prompt, ` sender="Ann" sender_id=`); got != gets || empty {
			t.Errorf("a turn gets it: %t, want %t, and nothing empty:\n%s", got, gets, a.input.Prompt)
		}
	})
}

// Letters and marks that no font shows, by which members send "empty" messages, started a paid
// turn with an empty prompt.
func TestATextOfFillersIsEmpty(t *testing.T) {
	for _, text := range []string{"\u3164", "\u2800\u2800", "\uffa0\u115f", "\ufe0f\ufe0f", "\u034f", "\U000e0100"} {
		t.Run(fmt.Sprintf("%+q", text), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.run()
				w.does(channel.Inbound{ID: "1", From: "Ann", Text: text})
				has(t, w.runtime.next().input.Prompt, ">sent something that cannot be shown here: empty</message>")
			})
		})
	}
}

// A time that no record can hold, by a platform's word, kept the message and all after it out for a day.
func TestATimeThatCannotBeIsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{Chat: "web:family", ID: "1", From: "Ann", Text: "so?", Time: time.Unix(1<<40, 0)}))
		has(t, w.runtime.next().input.Prompt, `time="Jan 1, 2000, 12:00 AM">so?</message>`)
	})
}

// A sticker in a chat without a trigger word started a paid turn with an empty prompt.
func TestAStickerWithoutATriggerStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.does(channel.Inbound{Kind: channel.KindSticker, ID: "1", From: "Ann", Direct: true, Text: channel.StickerText("👍")})
		if w.runtime.next() != nil {
			t.Fatal("a sticker started a turn")
		}
		w.write("family", "2", "so?")
		has(t, w.runtime.next().input.Prompt, ">sent a sticker: 👍</message>", ">so?</message>")
		if n := w.m.Ignored("family").NotCalled; n != 0 {
			t.Errorf("%d messages count as not called", n)
		}
	})
}

// Words that the channel wrote are no trigger, no order to the host and no answer to a question.
func TestWordsOfTheChannelAreNotTheMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, func(o *options) {
			o.Vote = func(context.Context, channel.Inbound, string) (string, []string, bool, error) {
				t.Error("words of the channel count as an answer")
				return "", nil, false, nil
			}
		}, g)
		w.run()
		for i, text := range []string{"@Andy", "/stop", "Monday"} {
			w.does(channel.Inbound{ID: fmt.Sprint(i), From: "Ann", Text: text, Told: "dice"})
		}
		if w.runtime.next() != nil || len(w.texts()) > 0 {
			t.Fatalf("words of the channel did something: %q", w.texts())
		}
		if n := w.kept("family"); n != 3 {
			t.Errorf("%d messages wait for the next turn, want 3", n)
		}
	})
}

// An order that a member gives by the platform's own command has no text. It was taken for an
// empty message, and nobody heard it.
func TestAnOrderWithoutATextIsNotEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, group("family"))
		w.run()
		w.does(channel.Inbound{ID: "1", From: "Ann", Command: "status"})
		if got := w.texts(); len(got) != 1 || w.runtime.next() != nil {
			t.Errorf("the member heard %q", got)
		}
	})
}

// A note starts no turn where other events do, and does not push out the one before.
func TestNotesStartNoTurnAndStandBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, withEvents("turn"))
		w.run()
		for _, text := range []string{"pinned a message", "called, and nobody answered", ""} {
			w.does(channel.Inbound{Kind: channel.KindNote, From: "Ann", Sender: "a", Text: text})
		}
		if w.runtime.next() != nil {
			t.Fatal("a note started a turn")
		}
		w.write("family", "2", "so?")
		has(t, w.runtime.next().input.Prompt, ">pinned a message</event>", ">called, and nobody answered</event>", ">sent something that cannot be shown here: note</event>")
	})
}

// What is only told in words is counted by channel and kind, within bounds: kinds are foreign.
func TestWhatIsOnlyToldInWordsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		says := func() int { return strings.Count(log.String(), "only told in words") }
		w := newWorld(t, func(o *options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		tell := func(id, kind string) {
			w.does(channel.Inbound{ID: id, From: "Ann", Text: channel.NotShown(kind), Told: kind})
		}
		for i := range 3 {
			tell(fmt.Sprint("dice ", i), "dice")
		}
		tell("dice 0", "dice") // which the channel brings again
		if got := w.m.Told(); len(got) != 1 || got[0] != (turns.Told{Channel: "web", Kind: "dice", Count: 3}) {
			t.Errorf("counted: %+v", got)
		}
		if n := says(); n != 1 {
			t.Errorf("the log says so %d times, want once", n)
		}
		time.Sleep(time.Hour)
		tell("an hour later", "dice")
		if n := says(); n != 2 {
			t.Errorf("an hour later the log says so %d times, want twice", n)
		}
		for i := range 1000 {
			tell(fmt.Sprint("flood ", i), fmt.Sprint("kind", i))
		}
		tell("bad", "no\nkind")
		got := w.m.Told()
		others := slices.IndexFunc(got, func(one turns.Told) bool { return one.Kind == "other" })
		if len(got) > 201 || others < 0 || got[others].Count != 802 {
			t.Errorf("%d kinds are counted", len(got))
		}
	})
}

// What is forwarded, and of what and which part a quote is, stands in the prompt, also
// after a restart, and in what the assistant may read again.
func TestForwardsAndQuotesAreShownWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.does(channel.Inbound{ID: "1", From: "Ann", Text: "the crane is down", Forwarded: true, Author: `Bo "<b>"`})
		w.does(channel.Inbound{ID: "2", From: "Ann", Text: "true?", Quote: &channel.Quote{
			ID: "77", From: "Cy", Text: "down since nine", Selected: "since nine" + strings.Repeat("!", 3000), Forwarded: true, Elsewhere: true,
		}})
		next := w.restart()
		next.run()
		a := next.runtime.next()
		prompt := strings.Join(append([]string{a.input.Prompt}, a.reads()...), "")
		has(t, prompt, `forwarded="yes" author="Bo &quot;&lt;b&gt;&quot;">the crane`,
			`<quoted_message from="Cy" forwarded="yes" elsewhere="yes" selected="since nine!!!`, ">down since nine</quoted_message>true?")
		if strings.Contains(prompt, "reply_to") || len(prompt) > 3000 {
			t.Errorf("a message elsewhere can be answered here, or the part has no bound: %s", prompt)
		}
		a.says("done")
		synctest.Wait()
		past, err := next.m.Past("family", "")
		check(t, err)
		slices.SortFunc(past, func(a, b inbound.Past) int { return strings.Compare(a.ID, b.ID) })
		if len(past) != 2 || !past[0].Forwarded || past[0].Author != `Bo "<b>"` || past[1].Quote == nil || !past[1].Quote.Elsewhere || !past[1].Quote.Forwarded || !strings.HasPrefix(past[1].Quote.Selected, "since nine!") || len(past[1].Quote.Selected) > 1000 {
			t.Errorf("can be read again: %+v", past)
		}
	})
}

// The files of a forwarded and a quoted message count against the limits of who sent them.
func TestForwardedAndQuotedFilesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		files := func(n int, size int64) (all []channel.Attachment) {
			for i := range n {
				all = append(all, channel.Attachment{Info: media.Info{Name: "a.bin", Kind: media.Document, Size: size}, Ref: fmt.Sprint(n, i)})
			}
			return all
		}
		w.does(channel.Inbound{ID: "1", From: "Ann", Forwarded: true, Files: files(20, 5), Quote: &channel.Quote{ID: "0", From: "Bo", Files: files(21, 5)}})
		w.does(channel.Inbound{ID: "2", From: "Ann", Text: "?", Quote: &channel.Quote{ID: "0", From: "Bo", Files: files(1, 1<<40)}})
		w.run()
		a := w.runtime.next()
		prompt := strings.Join(append([]string{a.input.Prompt}, a.reads()...), "")
		if n := strings.Count(prompt, "a message may bring 32 files"); n != 9 {
			t.Errorf("%d files are too many, want 9", n)
		}
		has(t, prompt, "files may have up to")
	})
}
