package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/media"
)

func refuses(form channel.Form) error {
	return &channel.Error{Class: channel.Permanent, Code: "refused", Message: "no " + string(form) + " here", Form: form}
}

// picky refuses what why says, and remembers what it has shown.
type picky struct {
	*fake
	shown []string
}

func newPicky(why func(m channel.Message) channel.Form) *picky {
	p := &picky{fake: &fake{name: "fake", threads: true}}
	known := map[string]bool{}
	p.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if form := why(m); form != "" {
			return channel.Receipt{}, refuses(form)
		}
		if !known[m.ID] {
			known[m.ID] = true
			line := m.Text
			for _, f := range m.Files {
				line += fmt.Sprintf(" %s:%s", f.Name, f.Kind)
			}
			p.shown = append(p.shown, strings.TrimSpace(line+" "+m.ReplyTo+m.Thread))
		}
		return channel.Receipt{ID: "r-" + m.ID}, nil
	}
	return p
}

func kindOf(m channel.Message) media.Kind {
	if len(m.Files) == 0 {
		return ""
	}
	return m.Files[0].Kind
}

func TestARefusedFormGoesDownToWhatThePlatformTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newPicky(func(m channel.Message) channel.Form {
			switch {
			case m.Thread != "":
				return channel.FormThread
			case m.ReplyTo != "":
				return channel.FormReply
			case len(m.Files) == 1 && kindOf(m) != media.Document:
				return channel.FormKind
			}
			return ""
		})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d := file(t, o, "fake:a", "hello.ogg", "OggS")
		d.Parts[0].Files[0].Kind, d.Parts[0].ReplyTo, d.Thread, d.Parts[0].Text = media.Voice, "question", "t-1", ""
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		p := b.of(d).Parts[0]
		want := "no thread here, so it goes to the chat itself; no reply here, so it goes as no answer; no kind here, so it goes as audio; no kind here, so it goes as a document"
		if p.State != records.Sent || p.Receipt.Note != want || p.Files[0].Kind != media.Document {
			t.Errorf("ended as %+v", p)
		}
		if diff := cmp.Diff([]string{"hello.ogg:document"}, ch.shown); diff != "" || len(ch.calls()) != 5 {
			t.Errorf("%d calls: %s", len(ch.calls()), diff)
		}
	})
}

// The album's files come one by one, in their place, and a change of a later message of the
// request still finds it.
func TestAnAlbumThatIsRefusedGoesAsSingleFilesInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newPicky(func(m channel.Message) channel.Form {
			if len(m.Files) > 1 {
				return channel.FormAlbum
			}
			return ""
		})
		b := newBook()
		changing := &changing{picky: ch}
		o := b.open(t, outbox.Options{Channels: []channel.Channel{changing}})
		d := text("fake:a", "before")
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			d.Parts = append(d.Parts, file(t, o, "fake:a", name, name).Parts...)
		}
		d.Parts[1].Text, d.Parts[1].Files = "all", append(append(d.Parts[1].Files, d.Parts[2].Files...), d.Parts[3].Files...)
		d.Parts = append(d.Parts[:2], records.Part{Text: "after"})
		edit := text("fake:a", "changed")
		edit.Parts[0].Act = &records.Act{Verb: records.VerbEdit, Of: d.Key, Part: 2}
		put(t, o, d, edit)
		run(t, o)
		b.settled(t, d, edit)
		if diff := cmp.Diff([]string{"before", "all a.txt:document", "b.txt:document", "c.txt:document", "after"}, ch.shown); diff != "" {
			t.Error(diff)
		}
		got := b.of(d)
		if len(got.Parts) != 5 || got.Parts[4].Text != "after" || changing.edited != got.Parts[4].Receipt.ID {
			t.Errorf("%d parts; %q was edited", len(got.Parts), changing.edited)
		}
		for _, p := range got.Parts[1:4] {
			if p.State != records.Sent || len(p.Files) != 1 || p.Receipt.Note != "no album here, so it goes as a message for each file" {
				t.Errorf("ended as %+v", p)
			}
		}
		again, err := o.Get(t.Context(), d.Key)
		if err != nil || len(again.Parts) != 5 || again.Open() || again.Parts[3].Files[0].Name != "c.txt" {
			t.Errorf("the record is %+v, %v", again, err)
		}
		if s, err := o.Stats(t.Context()); err != nil || s.Pending != 0 || s.Bytes != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// album is a delivery of files that share a message, which refusesAlbums refuses.
func album(t *testing.T, o *box, names ...string) records.Delivery {
	d := file(t, o, "fake:a", names[0], names[0])
	for _, name := range names[1:] {
		d.Parts[0].Files = append(d.Parts[0].Files, file(t, o, "fake:a", name, name).Parts[0].Files...)
	}
	d.Parts[0].Text, d.Parts[0].Written = "*all*", "**all**"
	return d
}

func refusesAlbums(m channel.Message) channel.Form {
	if len(m.Files) > 1 {
		return channel.FormAlbum
	}
	return ""
}

// A host that starts again has not read what the text was made of.
func TestAnAlbumThatWentAsSingleFilesLostTheMarkdownOfItsText(t *testing.T) {
	dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{newPicky(refusesAlbums)}}
	o := openAt(t, dir, opts)
	d := album(t, o, "a.txt", "b.txt")
	put(t, o, d)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	b := newBook()
	run(t, b.openAt(t, dir, opts))
	b.settled(t, d)
	said, err := b.o.Reader().Said(t.Context(), d.Address(), d.Folder, "", time.Now().Add(time.Hour), 10)
	if err != nil || len(said) != 2 || said[0].Text != "**all**" || said[1].Text != "" {
		t.Errorf("%+v, %v", said, err)
	}
}

func TestAnUnsendOfAnAlbumThatWentAsSingleFilesTookTheFirstAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &changing{picky: newPicky(refusesAlbums)}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d := album(t, o, "a.txt", "b.txt", "c.txt")
		d.Parts = append(d.Parts, records.Part{Text: "after"})
		unsend := text("fake:a", "unsend", "after")
		unsend.Folder = d.Folder
		for i := range unsend.Parts {
			unsend.Parts[i].Act = &records.Act{Verb: records.VerbUnsend, Of: d.Key, Part: i}
		}
		put(t, o, d, unsend)
		run(t, o)
		b.settled(t, d, unsend)
		var want []string
		for _, i := range []int{0, 3, 1, 2} { // those that were named first, in the new places
			want = append(want, b.of(d).Parts[i].Receipt.ID)
		}
		if diff := cmp.Diff(want, ch.unsent); diff != "" {
			t.Error(diff)
		}
		if u := o.UsedBy(d.Folder); u != (outbox.Use{}) {
			t.Errorf("the group has %+v in the outbox", u)
		}
	})
}

// changing is a channel that edits and unsends.
type changing struct {
	*picky
	edited string
	unsent []string
}

func (c *changing) UnsendWithin() time.Duration { return channel.Forever }

func (c *changing) Unsend(_ context.Context, to channel.Change) error {
	c.unsent = append(c.unsent, to.Target)
	return nil
}

func (c *changing) EditWithin() time.Duration { return channel.Forever }

func (c *changing) Edit(_ context.Context, to channel.Change) error {
	c.edited = to.Target
	return nil
}

// A host that dies while it sends the lower form goes on with that form.
func TestALowerFormIsRecordedBeforeItIsSent(t *testing.T) {
	var o *box
	var recorded media.Kind
	d := records.Delivery{}
	ch := newPicky(func(m channel.Message) channel.Form {
		if kindOf(m) == media.Image {
			return channel.FormKind
		}
		got, _ := o.Reader().Get(context.Background(), d.Key)
		recorded = got.Parts[0].Files[0].Kind
		return ""
	})
	b := newBook()
	o = b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	d = file(t, o, "fake:a", "a.png", "PNG")
	d.Parts[0].Files[0].Kind = media.Image
	put(t, o, d)
	run(t, o)
	b.settled(t, d)
	if calls := ch.calls(); recorded != media.Document || len(calls) != 2 || calls[0].m.ID == calls[1].m.ID {
		t.Errorf("while it was sent, the record said %q; %d calls", recorded, len(calls))
	}
}

// Nobody knows what became of the first attempt: another form might show it twice.
func TestAPartInDoubtKeepsItsForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if len(ch.calls()) == 1 {
				return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "lost"}
			}
			return channel.Receipt{}, refuses(channel.FormKind)
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d := file(t, o, "fake:a", "a.png", "PNG")
		d.Parts[0].Files[0].Kind = media.Image
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Uncertain || len(ch.calls()) != 2 {
			t.Errorf("%d calls, ended as %+v", len(ch.calls()), p)
		}
	})
}

// A refused content ends the part, and nothing overtakes a part that takes another form.
func TestNothingOvertakesAPartThatTakesAnotherForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newPicky(func(m channel.Message) channel.Form {
			if m.ReplyTo != "" {
				return channel.FormReply
			}
			return ""
		})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{several{ch}}})
		d := text("fake:a", "one", "two", "three")
		d.Parts[1].ReplyTo = "gone"
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		if diff := cmp.Diff([]string{"one", "two", "three"}, ch.shown); diff != "" {
			t.Error(diff)
		}
	})
}

// several takes all that waits in one call.
type several struct{ *picky }

func (s several) SendAll(ctx context.Context, ms []channel.Message) (outs []channel.Outcome) {
	for _, m := range ms {
		r, err := s.Send(ctx, m)
		if outs = append(outs, channel.Outcome{Receipt: r, Err: err}); outs[len(outs)-1].Last() {
			break
		}
	}
	return outs
}
