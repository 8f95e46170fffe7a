package bridge_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// formsOf are those that channels may take, by the code that lists them.
func formsOf(t *testing.T) (all []media.Markup) {
	code, err := os.ReadFile("../../media/limits.go")
	check(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\tMarkup\w+ +Markup = "(\w*)"`).FindAllStringSubmatch(string(code), -1) {
		all = append(all, media.Markup(m[1]))
	}
	if len(all) < 7 {
		t.Fatalf("only %q", all)
	}
	return all
}

// An assistant read its own words in the platform's form: **data** came back as *data*,
// and was italic when it was repeated.
func TestWhatAnAssistantWroteCameBackInThePlatformsForm(t *testing.T) {
	const words = "## Report\n\nThe **data** is in _two_ parts; see [the page](https://a.example/b_(c)).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls *\n```"
	const edited = "The **new data**, 5 \\* 3."
	for _, form := range formsOf(t) {
		t.Run(string(form), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := writing(t, form, 4000)
				defer s.run(&told{})()
				first := s.after("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: words})
				s.after("work", "2", ipc.Request{Type: ipc.TypeMessage, Text: s.reads()[0]})
				f := file(s.write("work", "a.txt", "abc"))
				f.Files[0].Caption = words
				s.after("work", "3", f)
				if diff := cmp.Diff([]string{words, words, words}, s.reads()); diff != "" {
					t.Error(diff)
				}
				if seen := s.sees("mem:work", 3); seen[0].Text != seen[1].Text || seen[0].Text != seen[2].Text {
					t.Errorf("the chat shows %+v", seen)
				}
				s.after("work", "4", ipc.Request{Type: ipc.TypeEdit, Target: first.MessageID, Text: edited})
				if got := s.reads()[0]; got != edited {
					t.Errorf("after an edit it reads %q", got)
				}
				in := channel.Inbound{Quote: &channel.Quote{ID: first.MessageID, Own: true, Text: s.memory.Shown("mem:work")[0].Text}}
				if _, err := s.Hide(t.Context(), groups.Address{Channel: "memory", JID: "mem:work"}, &in); err != nil || in.Quote.Text != edited {
					t.Errorf("in a quote it reads %+v, %v", in.Quote, err)
				}
				s.after("work", "5", ipc.Request{Type: ipc.TypeUnsend, Target: first.MessageID})
				in = channel.Inbound{Quote: &channel.Quote{ID: first.MessageID, Own: true, Text: "the platform's"}}
				if _, err := s.Hide(t.Context(), groups.Address{Channel: "memory", JID: "mem:work"}, &in); err != nil || in.Quote.Text != "the platform's" {
					t.Errorf("in a quote of what it deleted it reads %+v, %v", in.Quote, err)
				}
			})
		})
	}
}

func TestEachMessageOfALongTextComesBackAsMarkdown(t *testing.T) {
	words := strings.Repeat("The **data** is in _two_ parts, and ~~three~~ `four` of them.\n\n", 8)
	for _, form := range formsOf(t) {
		t.Run(string(form), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := writing(t, form, 200)
				defer s.run(&told{})()
				s.after("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: words})
				n := len(s.reads())
				for i, text := range s.reads() {
					if !strings.Contains(text, "**data**") && form != media.MarkupPlain {
						t.Errorf("it reads %q", text)
					}
					s.after("work", "again"+string(rune('a'+i)), ipc.Request{Type: ipc.TypeMessage, Text: text})
				}
				seen := s.sees("mem:work", 2*n)
				for i := range n {
					if seen[i].Text != seen[n+i].Text {
						t.Errorf("%q became %q", seen[i].Text, seen[n+i].Text)
					}
				}
			})
		})
	}
}

// writing is a site whose channel takes texts of a form.
func writing(t *testing.T, form media.Markup, most int) *site {
	limits := media.DefaultLimits()
	limits.Markup, limits.Text = form, most
	m := memory.New(memory.Options{Online: true, Limits: limits})
	s := newSite(t, func(o *outbox.Options) {
		o.Channels = []channel.Channel{memory.Acting{Channel: m, Within: channel.Forever}}
	})
	s.memory = m
	return s
}

// reads are the texts that the assistant of the group work reads of its own.
func (s *site) reads() (texts []string) {
	s.t.Helper()
	all, err := s.outbox.Reader().Said(s.t.Context(), groups.Address{Channel: "memory", JID: "mem:work"}, "work", "", time.Now().Add(time.Hour), 100)
	check(s.t, err)
	for _, said := range all {
		texts = append(texts, said.Text)
	}
	return slices.Clip(texts)
}
