package operator_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestAnOperatorSearchesTheTrail(t *testing.T) {
	c := newCounter(t)
	if page, err := c.Audit(t.Context(), operator.AuditQuery{}); err != nil || page.Entries == nil || len(page.Entries) > 0 {
		t.Errorf("without a trail: %+v, %v", page, err)
	}
	log, err := audit.Open(audit.Options{Dir: c.Layout.Audit(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2027, 1, 5, 12, 0, 0, 0, time.UTC)
	hash := strings.Repeat("ab", 32)
	for i, e := range []audit.Entry{
		{Group: "family", Event: "sent", Chat: log.Mask("4915100000000@s.whatsapp.net"), Parts: []audit.Part{{Kind: "document", Name: "Report.PDF", SHA256: hash}}},
		{Group: "work", Event: "refused", Code: "screened", Message: "rule name .env"},
		{Group: "work", Event: "sent", Parts: []audit.Part{{Kind: "image", Name: "harbour.png"}}},
	} {
		e.Time, e.Delivery = day.AddDate(0, 0, i), strings.Repeat("d", 31)+string(rune('0'+i))
		log.Add(e)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		q    operator.AuditQuery
		want []int64
	}{
		"all":                  {operator.AuditQuery{}, []int64{1, 2, 3}},
		"the newest":           {operator.AuditQuery{Limit: 2}, []int64{2, 3}},
		"a name in other case": {operator.AuditQuery{Text: "report.pdf"}, []int64{1}},
		"a hash's beginning":   {operator.AuditQuery{Text: hash[:8]}, []int64{1}},
		"a member's number":    {operator.AuditQuery{Text: "4915100000000@s.whatsapp.net"}, []int64{1}},
		"a code":               {operator.AuditQuery{Text: "screened"}, []int64{2}},
		"a rule":               {operator.AuditQuery{Text: ".ENV"}, []int64{2}},
		"a group, sent":        {operator.AuditQuery{Text: "work", Event: "sent"}, []int64{3}},
		"from a day":           {operator.AuditQuery{From: day.AddDate(0, 0, 1)}, []int64{2, 3}},
		"to a day":             {operator.AuditQuery{To: day.AddDate(0, 0, 1)}, []int64{1}},
		"nothing":              {operator.AuditQuery{Text: "nobody"}, nil},
	} {
		page, err := c.Audit(t.Context(), tt.q)
		var got []int64
		for _, e := range page.Entries {
			got = append(got, e.Number)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || page.Incomplete {
			t.Errorf("%s: %s, %v", name, diff, err)
		}
	}
	if _, err := c.Audit(t.Context(), operator.AuditQuery{Text: strings.Repeat("x", 1000)}); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodeBadCall {
		t.Errorf("a long text: %v", err)
	}
}

func TestTheClientSearchesTheTrail(t *testing.T) {
	dir := privateDir(t)
	serve(t, &operator.Server{Dir: dir, Control: &control{}})
	q := operator.AuditQuery{Text: "a&b=c", Event: "sent", From: time.Unix(1, 5), To: time.Unix(2, 0), Limit: 7}
	page, err := operator.NewClient(dir).Audit(t.Context(), q)
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if e := page.Entries[0]; e.Message != q.Text || e.Event != q.Event || !e.Time.Equal(q.From) || !e.Asked.Equal(q.To) || e.Number != 7 {
		t.Errorf("asked for %+v, the host heard %+v", q, e)
	}
}
