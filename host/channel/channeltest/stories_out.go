package channeltest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

func saysWhatItIs(t testing.TB, h Harness) {
	c := h.New(t)
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]*$`).MatchString(c.Name()) {
		t.Errorf("name %q cannot be a key of longshore.yaml", c.Name())
	}
	for chat, want := range map[groups.JID]bool{h.Chat: true, h.Other: true, h.Unknown: true, "": false, "no channel:has this": false} {
		if c.Owns(chat) != want {
			t.Errorf("Owns(%q) = %t", chat, !want)
		}
	}
	limits := c.Limits()
	if limits.Text <= 0 || limits.Kinds[media.Document].Bytes <= 0 {
		t.Errorf("takes no text or no documents: %+v", limits)
	}
	if r := c.Repeat(); r.Keyed < channel.Forever || (limits.Threads && h.Thread == nil) {
		t.Errorf("%+v, threads %t", r, limits.Threads)
	}
	for kind, l := range limits.Kinds {
		if !slices.Contains(media.Kinds(), kind) || l.Bytes < 0 || l.Caption < 0 || l.Caption > 0 && l.Bytes == 0 {
			t.Errorf("limit of %q makes no sense: %+v", kind, l)
		}
	}
}

func textArrives(t testing.TB, h Harness) {
	j := join(t, h)
	const text = "Grüße & <b>good</b> *morning* _you_ `there`\nsecond line 🚢"
	r := j.send(memory.Text(newID(), h.Chat, text))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: r.ID, Text: text})
	if got := h.Received(t, h.Other, 0); len(got) != 0 {
		t.Errorf("the other chat sees %v", got)
	}
}

func longestTextArrives(t testing.TB, h Harness) {
	j := join(t, h)
	l := j.Limits()
	text := strings.Repeat("é", (min(l.Text, 1<<16)-1)/l.Unit.Of('é')) + "."
	r := j.send(memory.Text(newID(), h.Chat, text))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: r.ID, Text: text})
}

func fileArrives(t testing.TB, h Harness) {
	j := join(t, h)
	data := noise(1<<20 + 17)
	m := memory.File(newID(), h.Chat, "report.bin", data)
	if j.Limits().Kinds[media.Document].Caption > 0 {
		m.Text = "the report & its <caption>"
	}
	var open atomic.Int64
	m.Files[0].Content = counted(data, &open, nil)
	p := &progress{}
	m.Attempt = p
	r := j.send(m)
	p.check(t, int64(len(data)))
	if n := open.Load(); n != 0 {
		t.Errorf("%d readers of the file are still open after Send", n)
	}
	want(t, h.Received(t, h.Chat, 1), Seen{ID: r.ID, Text: m.Text, File: seenAs(m)})
}

// seenAs is a message's first file as members see it.
func seenAs(m channel.Message) *SeenFile {
	f := m.Files[0]
	return &SeenFile{Name: f.Name, MIME: f.MIME, Size: f.Size, SHA256: f.SHA256}
}

func namesSurvive(t testing.TB, h Harness) {
	j := join(t, h)
	names := []string{
		media.SafeName(strings.Repeat("很长", 100) + ".pdf"),
		"it's 100% ; a=b, (x) & y+z #1 [é].txt",
		"семья 👨‍👩‍👧.csv",
		"noextension",
		"", // members see what the platform makes of it
	}
	for _, name := range names {
		j.send(memory.File(newID(), h.Chat, name, []byte("content of "+name)))
	}
	for i, s := range h.Received(t, h.Chat, len(names)) {
		if i >= len(names) || s.File == nil {
			t.Errorf("message %d is %v, want %d files", i, s, len(names))
			return
		}
		if name := names[i]; name != "" && s.File.Name != name {
			t.Errorf("file %q arrived as %q", name, s.File.Name)
		}
		if s.File.SHA256 != sum([]byte("content of "+names[i])) {
			t.Errorf("file %q arrived with other bytes", names[i])
		}
	}
}

func answerPoints(t testing.TB, h Harness) {
	j := join(t, h)
	question := j.send(memory.Text(newID(), h.Chat, "which one?"))
	m := memory.Text(newID(), h.Chat, "this one")
	m.ReplyTo = question.ID
	answer := j.send(m)
	want(t, h.Received(t, h.Chat, 2),
		Seen{ID: question.ID, Text: "which one?"}, Seen{ID: answer.ID, Text: "this one", ReplyTo: question.ID})
}

func albumArrives(t testing.TB, h Harness) {
	j := join(t, h)
	l := j.Limits()
	if l.Files < 2 || l.Kinds[media.Document].Album == "" {
		return
	}
	m := memory.Files(newID(), h.Chat, slices.Repeat([]string{"a.bin", "b.bin"}, l.Files/2)...)
	if l.Kinds[media.Document].Caption > 0 {
		m.Text = "all of them"
	}
	p, size := &progress{}, int64(0)
	m.Attempt = p
	for _, f := range m.Files {
		size += f.Size
	}
	r := j.send(m)
	p.check(t, size)
	first := seenAs(m)
	seen := Seen{ID: r.ID, Text: m.Text, File: first}
	for i := range m.Files[1:] {
		seen.More = append(seen.More, *seenAs(channel.Message{Files: m.Files[i+1:]}))
	}
	m.Attempt = nil
	if !Blind(j.Channel) {
		j.same(r, j.again(m))
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 2), seen, Seen{ID: end.ID, Text: "end"})
}

func threadArrives(t testing.TB, h Harness) {
	j := join(t, h)
	if !j.Limits().Threads {
		return
	}
	m := memory.Text(newID(), h.Chat, "in a thread")
	m.Thread = h.Thread(t, h.Chat)
	inside := j.send(m)
	outside := j.send(memory.Text(newID(), h.Chat, "in the chat"))
	want(t, h.Received(t, h.Chat, 2), Seen{ID: inside.ID, Text: m.Text, Thread: m.Thread}, Seen{ID: outside.ID, Text: "in the chat"})
}

func keepOrder(t testing.TB, h Harness) {
	j := join(t, h)
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("message %d", i))
		j.send(memory.Text(newID(), h.Chat, texts[i]))
	}
	wantTexts(t, h.Received(t, h.Chat, len(texts)), texts)
}

func chatsAtOnce(t testing.TB, h Harness) {
	j := join(t, h)
	var wg sync.WaitGroup
	texts := map[groups.JID][]string{}
	for _, chat := range []groups.JID{h.Chat, h.Other} {
		var mine []string
		for i := range 10 {
			mine = append(mine, fmt.Sprintf("%s %d", chat, i))
		}
		texts[chat] = mine
		wg.Go(func() {
			for _, text := range mine {
				if _, err := j.Send(j.ctx, memory.Text(newID(), chat, text)); err != nil {
					t.Errorf("Send %q: %v", text, err)
				}
			}
		})
	}
	wg.Wait()
	for chat, want := range texts {
		wantTexts(t, h.Received(t, chat, len(want)), want)
	}
}

// want compares what members see with all that they should see.
func want(t testing.TB, got []Seen, want ...Seen) {
	t.Helper()
	if !slices.EqualFunc(got, want, Seen.Equal) {
		t.Errorf("members see\n\t%v\nwant\n\t%v", got, want)
	}
}

func wantTexts(t testing.TB, got []Seen, want []string) {
	t.Helper()
	var texts []string
	for _, s := range got {
		texts = append(texts, s.Text)
	}
	if !slices.Equal(texts, want) {
		t.Errorf("members see\n\t%q\nwant\n\t%q", texts, want)
	}
}

// progress checks what a Send reports as its progress.
type progress struct {
	channel.Attempt // nil: the joined saves
	mu              sync.Mutex
	last            int64
	bad             []string
	over            bool
}

func (p *progress) Progress(sent int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sent < p.last {
		p.bad = append(p.bad, fmt.Sprintf("fell from %d to %d", p.last, sent))
	}
	if p.over {
		p.bad = append(p.bad, "came after Send had returned")
	}
	p.last = sent
}

func (p *progress) check(t testing.TB, size int64) {
	t.Helper()
	p.mu.Lock()
	p.over = true
	last := p.last
	p.mu.Unlock()
	if last != size {
		t.Errorf("progress ends at %d of %d bytes", last, size)
	}
	t.Cleanup(func() { // late, so that what comes after Send is seen too
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.bad {
			t.Errorf("progress %s", s)
		}
	})
}
