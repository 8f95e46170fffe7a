package channeltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

// memoryHarness joins a memory channel to the suite. wrap makes of it the channel that
// is tested; nil takes it as it is.
func memoryHarness(o memory.Options, wrap func(*memory.Channel) channel.Channel) Harness {
	if wrap == nil {
		wrap = func(m *memory.Channel) channel.Channel { return m }
	}
	var m *memory.Channel
	o.Chats = []groups.JID{"mem:family", "mem:work"}
	return Harness{
		Chat: "mem:family", Other: "mem:work", Unknown: "mem:nobody",
		New: func(testing.TB) channel.Channel {
			m = memory.New(o)
			return wrap(m)
		},
		Restart: func(testing.TB) channel.Channel {
			m = m.Restarted()
			return wrap(m)
		},
		Ready: func(t testing.TB, _ channel.Channel) {
			within(t, func(ctx context.Context) error { return m.Wait(ctx, connected(m)) })
		},
		Received: func(t testing.TB, chat groups.JID, n int) (seen []Seen) {
			within(t, func(ctx context.Context) (err error) {
				seen, err = m.WaitShown(ctx, chat, n)
				return err
			})
			return seen
		},
		Now: func(_ testing.TB, chat groups.JID, id string) Seen {
			for _, s := range m.Shown(chat) {
				if s.ID == id {
					return s
				}
			}
			return Seen{ID: id, Gone: true}
		},
		Say: func(t testing.TB, chat groups.JID, s Said) {
			in := channel.Inbound{Chat: chat, From: s.From, Sender: "ada@mem", Text: s.Text}
			if s.File != nil {
				in.Files = append(in.Files, m.Attach(s.File.Name, s.File.MIME, s.File.Data))
			}
			say(t, m, in)
		},
		Acts: []channel.Kind{
			channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindVote, channel.KindLocation, channel.KindMembership,
		},
		Act: func(t testing.TB, chat groups.JID, in channel.Inbound) {
			in.Chat, in.From, in.Sender = chat, "Ada", "ada@mem"
			say(t, m, in)
		},
		Share: func(t testing.TB, chat groups.JID, s Shared) { share(t, m, chat, s) },
		Lacks: map[Case]string{Robot: "it shows nobody who is none of its members"},
		Stranger: func(t testing.TB, chat groups.JID, id, _ string) {
			say(t, m, channel.Inbound{Kind: channel.KindVote, Chat: chat, From: "Eve", Target: id, Outside: true})
		},
		Expire: func(testing.TB) { m.Expire() },
		Settle: func(t testing.TB) { within(t, func(ctx context.Context) error { return m.Settle(ctx) }) },
		Thread: func(testing.TB, groups.JID) string { return "thread-1" },
		Stall: func(t testing.TB) <-chan struct{} {
			m.Next(memory.Hanging())
			return reached(t, m, len(m.Attempts())+1)
		},
		Refuse: func(_ testing.TB, form channel.Form, _ channel.Message) bool {
			m.Next(memory.Refused(form))
			return true
		},
		Mark: func(t testing.TB, chat groups.JID, id string, state channel.State) {
			within(t, func(ctx context.Context) error { return m.Report(ctx, chat, id, state) })
		},
	}
}

// say is a member who does not hear whether the inbox has kept what was said.
func say(t testing.TB, m *memory.Channel, in channel.Inbound) {
	within(t, func(ctx context.Context) error {
		if err := m.Say(ctx, in); !errors.Is(err, errNotKept) {
			return err
		}
		return nil
	})
}

// connected says whether a memory channel is.
func connected(m *memory.Channel) func() bool {
	return func() bool {
		up, _ := memory.Full{Finding: memory.Finding{Channel: m}}.Connected()
		return up
	}
}

func within(t testing.TB, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := do(ctx); err != nil {
		t.Fatalf("the platform's side: %v", err)
	}
}

func reached(t testing.TB, m *memory.Channel, n int) <-chan struct{} {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan struct{})
	go func() {
		if _, err := m.WaitAttempts(ctx, n); err == nil {
			close(done)
		}
	}()
	return done
}

func TestMemoryKeepsEveryPromise(t *testing.T) {
	Run(t, memoryHarness(memory.Options{}, nil))
}

func TestMemoryThatCanBeAskedKeepsEveryPromise(t *testing.T) {
	h := memoryHarness(memory.Options{Forgets: true}, func(m *memory.Channel) channel.Channel { return memory.Full{Finding: memory.Finding{Channel: m}} })
	h.Ready = nil // by channel.Status
	Run(t, h)
}

func TestMemoryThatIsBlindKeepsEveryOtherPromise(t *testing.T) {
	Run(t, memoryHarness(memory.Options{Forgets: true}, func(m *memory.Channel) channel.Channel { return memory.Blind{Channel: m} }))
}

// albums are the limits of a platform with albums and threads.
func albums() media.Limits {
	l := media.DefaultLimits()
	l.Files, l.Threads, l.Unit = 10, true, media.UTF16
	return l
}

func TestMemoryOfEachKindKeepsEveryPromise(t *testing.T) {
	several := albums()
	acting := func(m *memory.Channel) channel.Channel { return memory.Acting{Channel: m} }
	finding := func(m *memory.Channel) channel.Channel { return memory.Finding{Channel: m} }
	for name, tt := range map[string]struct {
		o    memory.Options
		wrap func(*memory.Channel) channel.Channel
	}{
		"keyed for a day":                     {memory.Options{}, func(m *memory.Channel) channel.Channel { return memory.Blind{Channel: m, Keyed: 24 * time.Hour} }},
		"albums and threads":                  {memory.Options{Limits: several}, nil},
		"in steps":                            {memory.Options{Steps: true}, nil},
		"several at once":                     {memory.Options{}, func(m *memory.Channel) channel.Channel { return memory.Together{Channel: m} }},
		"changes":                             {memory.Options{}, acting},
		"late ids":                            {memory.Options{Late: true, Forgets: true}, finding},
		"shown later, reported":               {memory.Options{Late: true}, nil},
		"late albums of a platform with keys": {memory.Options{Late: true, Limits: several}, nil},
	} {
		t.Run(name, func(t *testing.T) { Run(t, memoryHarness(tt.o, tt.wrap)) })
	}
}

// broken is a channel with one fault in it.
type broken struct {
	*memory.Channel
	send func(context.Context, channel.Message) (channel.Receipt, error)
	run  func(context.Context, channel.Inbox) error
	owns func(groups.JID) bool
}

func (b broken) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if b.send != nil {
		return b.send(ctx, m)
	}
	return b.Channel.Send(ctx, m)
}

func (b broken) Run(ctx context.Context, in channel.Inbox) error {
	if b.run != nil {
		return b.run(ctx, in)
	}
	return b.Channel.Run(ctx, in)
}

func (b broken) Owns(chat groups.JID) bool {
	if b.owns != nil {
		return b.owns(chat)
	}
	return b.Channel.Owns(chat)
}

// Every broken channel is caught, by the story that is there for it.
func TestTheSuiteCatchesBrokenChannels(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for _, tt := range []struct {
		name   string
		opts   memory.Options
		caught string
		wrap   func(m *memory.Channel) channel.Channel
	}{
		{name: "owns what is not its own", caught: "it says what it is", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, owns: func(groups.JID) bool { return true }}
		}},
		{name: "shows a retry again", opts: memory.Options{Forgets: true}, caught: "the same id shows once"},
		{name: "shows concurrent copies", opts: memory.Options{Forgets: true}, caught: "the same id at once shows once"},
		{name: "forgets ids over a restart", opts: memory.Options{Forgets: true}, caught: "the same id shows once after a restart", wrap: remembering},
		{name: "cannot be asked although it says so", opts: memory.Options{Forgets: true}, caught: "the same id shows once", wrap: func(m *memory.Channel) channel.Channel {
			return forgetful{m}
		}},
		{name: "cuts long text", caught: "the longest text arrives whole", wrap: altered(func(m *channel.Message) {
			m.Text = m.Text[:min(len(m.Text), 100)]
		})},
		{name: "escapes text", caught: "a text arrives", wrap: altered(func(m *channel.Message) {
			m.Text = strings.ReplaceAll(m.Text, "&", "&amp;")
		})},
		{name: "changes bytes", caught: "a file arrives byte for byte", wrap: altered(func(m *channel.Message) {
			if len(m.Files) > 0 {
				m.Files = memory.File("", "", m.Files[0].Name, []byte("other")).Files
			}
		})},
		{name: "drops the caption", caught: "a file arrives byte for byte", wrap: altered(func(m *channel.Message) {
			if len(m.Files) > 0 {
				m.Text = ""
			}
		})},
		{name: "tells no progress", caught: "a file arrives byte for byte", wrap: altered(func(m *channel.Message) { m.Attempt = nil })},
		{name: "leaves the file open", caught: "a file arrives byte for byte", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
				if len(msg.Files) > 0 {
					if _, err := msg.Files[0].Open(); err != nil {
						return channel.Receipt{}, err
					}
				}
				return m.Send(ctx, msg)
			}}
		}},
		{name: "loses names", caught: "names survive", wrap: altered(func(m *channel.Message) {
			if len(m.Files) > 0 {
				f := m.Files[0]
				f.Name = "file.bin"
				m.Files = []channel.File{f}
			}
		})},
		{name: "loses what is answered", caught: "an answer points at its question", wrap: altered(func(m *channel.Message) { m.ReplyTo = "" })},
		{name: "sends the first file only", opts: memory.Options{Limits: albums()}, caught: "several files arrive in one message", wrap: altered(func(m *channel.Message) {
			m.Files = m.Files[:min(1, len(m.Files))]
		})},
		{name: "loses the thread", opts: memory.Options{Limits: albums()}, caught: "a message goes to its thread", wrap: altered(func(m *channel.Message) { m.Thread = "" })},
		{name: "cuts what is too much", caught: "what exceeds the limits is refused for good", wrap: altered(func(m *channel.Message) {
			m.Files = m.Files[:min(1, len(m.Files))]
		})},
		{name: "loses what it saved", opts: memory.Options{Steps: true}, caught: "the same id shows once", wrap: altered(func(m *channel.Message) { m.State = nil })},
		{name: "does not find what is pending", opts: memory.Options{Late: true, Forgets: true}, caught: "a text arrives", wrap: func(m *memory.Channel) channel.Channel {
			return forgetful{m}
		}},
		{name: "acknowledges before it sends", caught: "messages keep their order", wrap: shuffled()},
		{name: "turns round what is sent together", caught: "messages sent together keep their order and show once", wrap: together(reversed)},
		{name: "shows what is sent together again", opts: memory.Options{Forgets: true}, caught: "messages sent together keep their order and show once", wrap: together(all)},
		{name: "knows ids for a day and takes several", caught: "messages sent together keep their order and show once", wrap: func(m *memory.Channel) channel.Channel {
			return daily{memory.Together{Channel: m}}
		}},
		{name: "sends an edit as a message", caught: "an edit made twice shows once", wrap: changed(func(m memory.Acting, c channel.Change) error {
			_, err := m.Send(context.Background(), memory.Text(c.ID, c.Chat, c.Text))
			return err
		})},
		{name: "loses an edit", caught: "an edit made twice shows once", wrap: changed(nothing)},
		{name: "tries what is unknown for ever", caught: "an edit made twice shows once", wrap: changed(func(m memory.Acting, c channel.Change) error {
			if m.Edit(context.Background(), c) != nil {
				return errors.New("not found")
			}
			return nil
		})},
		{name: "keeps the first reaction", caught: "a reaction replaces the one before", wrap: changed(func(m memory.Acting, c channel.Change) error {
			if c.Emoji != "👀" {
				return nil
			}
			return m.React(context.Background(), c)
		})},
		{name: "keeps what is unsent", caught: "what is unsent is gone", wrap: changed(nothing)},
		{name: "unsends once only", caught: "what is unsent is gone", wrap: changed(once())},
		{name: "mixes up the outcomes", caught: "one that is refused holds up none of those sent together", wrap: together(mixed)},
		{name: "ends where one is refused", caught: "one that is refused holds up none of those sent together", wrap: together(timid)},
		{name: "goes on after a failure", caught: "nothing overtakes a message that fails among others", wrap: together(all)},
		{name: "shows none of those that stand before a failure", caught: "nothing overtakes a message that fails among others", wrap: together(allOrNone)},
		{name: "does not listen while several are sent", caught: "messages sent together under a cancelled context do not show", wrap: together(deaf)},
		{name: "mixes up chats", caught: "chats are served at once", wrap: altered(func(m *channel.Message) {
			m.Chat = map[groups.JID]groups.JID{"mem:work": "mem:family", "mem:family": "mem:work"}[m.Chat]
		})},
		{name: "takes an unknown chat for a passing trouble", caught: "an unknown chat is refused for good", wrap: classed(channel.Passing)},
		{name: "shows half a file", caught: "a file that cannot be read shows nothing", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
				r, err := m.Send(ctx, msg)
				if err != nil && len(msg.Files) > 0 {
					m.Show(msg.Chat, Seen{File: &SeenFile{Name: "half"}})
				}
				return r, err
			}}
		}},
		{name: "gives up for good on any trouble", caught: "a file that cannot be read shows nothing", wrap: classed(channel.Permanent)},
		{name: "does not listen to its context", caught: "a cancelled send returns", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
				return m.Send(context.WithoutCancel(ctx), msg)
			}}
		}},
		{name: "does not say that a form is refused", caught: "a form that is refused goes in the next lower one", wrap: formed("")},
		{name: "shows what is refused", caught: "a form that is refused goes in the next lower one", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
				r, err := m.Send(ctx, msg)
				if channel.FormOf(err) != "" {
					m.Show(msg.Chat, Seen{Text: msg.Text})
				}
				return r, err
			}}
		}},
		{name: "takes every refusal for one of the form", caught: "a content that is refused goes in no other form", wrap: formed(channel.FormKind)},
		{name: "gives up for good at the end", caught: "a send after the end fails for the time being", wrap: classed(channel.Permanent)},
		{name: "loses what members write", caught: "what a member writes comes in", wrap: inboxed(func(in *channel.Inbound) { in.Text = "" })},
		{name: "loses who wrote", caught: "what a member writes comes in", wrap: inboxed(func(in *channel.Inbound) { in.From = "" })},
		{name: "loses attachments", caught: "what a member attaches comes in byte for byte", wrap: inboxed(func(in *channel.Inbound) { in.Files = nil })},
		{name: "brings what was kept again", caught: "what a member does comes in once", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error { return m.Run(ctx, twice{in}) }}
		}},
		{name: "loses what is reacted with", caught: "what a member does comes in once", wrap: inboxed(func(in *channel.Inbound) { in.Emoji = "" })},
		{name: "loses what is edited", caught: "what a member does comes in once", wrap: inboxed(func(in *channel.Inbound) { in.Target = "" })},
		{name: "believes a stranger", caught: "what a stranger does counts for nothing", wrap: inboxed(func(in *channel.Inbound) {
			if in.Outside {
				in.Outside, in.Choices = false, []string{"Pizza"}
			}
		})},
		{name: "loses what was not kept", caught: "what was not kept comes in again", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error { return m.Run(ctx, losing{in}) }}
		}},
		{name: "tries an expired file for ever", caught: "an expired file is refused for good", wrap: func(m *memory.Channel) channel.Channel { return stubborn{m} }},
		{name: "runs twice", caught: "a channel runs once", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error {
				_ = m.Run(ctx, in)
				return nil
			}}
		}},
		{name: "begins when it is made", caught: "a channel that is made and not run leaves nothing", wrap: func(m *memory.Channel) channel.Channel {
			go func() { <-over }()
			return m
		}},
		{name: "leaves a goroutine", caught: "a text arrives", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error {
				go func() { <-over }()
				return m.Run(ctx, in)
			}}
		}},
		{name: "calls its end an error", caught: "a text arrives", wrap: func(m *memory.Channel) channel.Channel {
			return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error {
				return errors.Join(m.Run(ctx, in), ctx.Err())
			}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			r.tell(find(t, tt.caught), memoryHarness(tt.opts, tt.wrap))
			if len(r.failures) == 0 {
				t.Errorf("story %q passed", tt.caught)
			}
		})
	}
}

// formed gives each refusal the same form.
func formed(form channel.Form) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel {
		return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
			r, err := m.Send(ctx, msg)
			var e *channel.Error
			if errors.As(err, &e) && e.Class == channel.Permanent {
				e.Form = form
			}
			return r, err
		}}
	}
}

func find(t *testing.T, name string) story {
	t.Helper()
	for _, s := range stories() {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no story %q", name)
	return story{}
}
