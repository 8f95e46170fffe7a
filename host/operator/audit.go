package operator

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
)

// AuditQuery is what an operator looks for in the audit trail.
type AuditQuery struct {
	Text  string    `json:"text,omitempty"`  // in names, chats, groups, codes and reasons, whatever its case; empty: all
	Event string    `json:"event,omitempty"` // sent, failed, uncertain or refused; empty: all
	From  time.Time `json:"from,omitzero"`   // zero: no bound
	To    time.Time `json:"to,omitzero"`     // the same
	Limit int       `json:"limit,omitempty"` // at most so many, the newest; 0: AuditItems
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
func (l *Local) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	if len(q.Text) > maxAuditText {
		return AuditPage{}, badCall("the text is longer than " + strconv.Itoa(maxAuditText) + " bytes")
	}
	limit := AuditItems
	if q.Limit > 0 {
		limit = min(q.Limit, AuditItems)
	}
	trail := l.Trail
	if trail == nil {
		trail = audit.Files(l.Layout.Audit())
	}
	search, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	found, err := audit.Newest(search, trail, audit.Query{Text: q.Text, Event: q.Event, From: q.From, To: q.To}, limit)
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if late {
		err = nil
	}
	return AuditPage{Entries: found, Incomplete: late}, err
}
