package audit

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Query selects entries of a trail. What is empty selects nothing away.
type Query struct {
	Group, Chat, Event, Code, Request string // these exactly; Chat by its own JID or as Mask writes it
	Name                              string // part of a file's name, whatever its case
	SHA256                            string // of a file, or its first digits
	From, To                          time.Time
	// Text is part of any of the above, or of the reason, whatever its case. A chat is
	// also found by its own JID.
	Text string

	maskedChat, maskedText string // as entries have them that do without numbers
}

// Of prepares the query for a trail, so that it finds chats by their JIDs in
// entries with numbers and in those without.
func (q Query) Of(t Trail) Query {
	q.maskedChat, q.maskedText = q.Chat, q.Text
	if strings.Contains(q.Chat, "@") {
		q.maskedChat = masked(t, q.Chat)
	}
	if strings.Contains(q.Text, "@") {
		q.maskedText = masked(t, q.Text)
	}
	return q
}

// Fits says whether the query selects an entry.
func (q *Query) Fits(e Entry) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	if !is(q.Group, e.Group) || !is(q.Chat, e.Chat) && e.Chat != q.maskedChat || !is(q.Event, e.Event) || !is(q.Code, e.Code) || !is(q.Request, e.Request) ||
		!q.From.IsZero() && e.Time.Before(q.From) || !q.To.IsZero() && !e.Time.Before(q.To) {
		return false
	}
	return q.fitsFiles(e) && q.fitsText(e)
}

func (q *Query) fitsFiles(e Entry) bool {
	if q.Name == "" && q.SHA256 == "" {
		return true
	}
	return slices.ContainsFunc(e.Parts, func(p Part) bool {
		return has(p.Name, q.Name) && strings.HasPrefix(p.SHA256, strings.ToLower(q.SHA256))
	})
}

func (q *Query) fitsText(e Entry) bool {
	if q.Text == "" {
		return true
	}
	return slices.ContainsFunc([]string{e.Group, e.Chat, e.Code, e.Message, e.Request, e.Delivery, e.Event}, func(text string) bool {
		return has(text, q.Text) || q.maskedText != "" && has(text, q.maskedText)
	}) || slices.ContainsFunc(e.Parts, func(p Part) bool {
		return has(p.Name, q.Text) || has(p.Text, q.Text) || has(p.Code, q.Text) || len(q.Text) >= 6 && strings.HasPrefix(p.SHA256, strings.ToLower(q.Text))
	})
}

func has(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// Newest returns the newest entries of the trail that the query selects, at most
// most, the oldest of them first. It reads the newest pieces first, and no more than it
// needs. If ctx ends first, it returns what it has found in whole pieces, and ctx's error.
func Newest(ctx context.Context, t Trail, q Query, most int) ([]Entry, error) {
	found := []Entry{} // in JSON, nothing is [] and not null
	q = q.Of(t)
	for p, err := range t.pieces(ctx, true) {
		if err != nil {
			return found, err
		}
		some, older, err := newestOf(ctx, p, &q, most-len(found))
		if err != nil {
			return found, err
		}
		found = slices.Insert(found, 0, some...)
		if older || len(found) >= most {
			break
		}
	}
	return found, nil
}

// newestOf is Newest for one piece. older says that the piece begins before q.From, so no
// piece before it has anything.
func newestOf(ctx context.Context, p piece, q *Query, most int) (found []Entry, older bool, err error) {
	first := true
	err = entriesOf(p, func(e Entry) error {
		if first {
			older, first = !q.From.IsZero() && e.Time.Before(q.From), false
		}
		if q.Fits(e) {
			if found = append(found, e); len(found)-most >= most {
				found = append(found[:0], found[len(found)-most:]...)
			}
		}
		return ctx.Err()
	})
	return found[max(0, len(found)-most):], older, err
}
