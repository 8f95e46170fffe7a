package operator

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
)

// AuditQuery is what an operator looks for in the audit trail.
type AuditQuery struct {
	Text     string    // in names, chats, groups, codes and reasons, whatever its case; empty: all
	Event    string    // sent, failed, uncertain or refused; empty: all
	From, To time.Time // zero: no bound
	Limit    int       // at most so many, the newest; 0: AuditItems
}

// AuditItems is how many entries an AuditPage has if the query does not say, and at most.
const AuditItems = 100

// AuditPage is the answer to an AuditQuery.
type AuditPage struct {
	Entries []audit.Entry `json:"entries"` // oldest first
	// Incomplete says that the search took too long: there may be older entries.
	Incomplete bool `json:"incomplete,omitempty"`
}

const (
	auditTime    = 10 * time.Second // how long a search may take
	maxAuditText = 200              // bytes of AuditQuery.Text
)

// Audit searches the trail, which needs no running host.
func (d *Desk) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	if len(q.Text) > maxAuditText {
		return AuditPage{}, badCall("the text is longer than " + strconv.Itoa(maxAuditText) + " bytes")
	}
	limit := AuditItems
	if q.Limit > 0 {
		limit = min(q.Limit, AuditItems)
	}
	search, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	found, err := audit.Newest(search, d.Layout.Audit(), audit.Query{Text: q.Text, Event: q.Event, From: q.From, To: q.To}, limit)
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if late {
		err = nil
	}
	return AuditPage{Entries: found, Incomplete: late}, err
}

// Audit asks the host to search the trail.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	v := url.Values{"text": {q.Text}, "event": {q.Event}, "limit": {strconv.Itoa(q.Limit)}}
	for name, t := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !t.IsZero() {
			v.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	var page AuditPage
	return page, c.call(ctx, http.MethodGet, "/v1/audit?"+v.Encode(), nil, &page)
}

func (s *Server) audit(w http.ResponseWriter, r *http.Request) {
	q, err := auditQueryOf(r.URL.Query())
	if err != nil {
		reply(w, nil, err)
		return
	}
	page, err := s.Control.Audit(r.Context(), q)
	reply(w, page, err)
}

func auditQueryOf(v url.Values) (q AuditQuery, err error) {
	q.Text, q.Event = v.Get("text"), v.Get("event")
	for name, t := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if text := v.Get(name); text != "" {
			if *t, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return q, badCall(name + " is not a time, such as 2026-01-31T12:00:00Z")
			}
		}
	}
	if text := v.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 {
			return q, badCall("limit is not a number")
		}
	}
	return q, nil
}
