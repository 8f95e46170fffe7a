package records

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

// Policy is what kind of question people are asked. What each kind means is in package bridge.
type Policy string

// The policies.
const (
	PolicyQuestion   Policy = "question"   // an assistant asks a chat
	PolicyApproval   Policy = "approval"   // may this delivery go?
	PolicyPermission Policy = "permission" // may a session elsewhere use a tool?
)

// Ask is something that people are asked, from the moment when somebody asks until people see
// how it ended.
type Ask struct {
	ID      string // 32 lower-case hex digits that nobody can guess; filled by Put
	Policy  Policy
	Folder  string // the group that asks
	Thread  string // its conversation
	Session string // the id by which the session knows a permission
	Rule    string // because of which it is asked, such as approve.above
	About   string // a permission's own JSON
	Made    time.Time
	Expires time.Time // no answer counts from then on
	Answer  string    // empty: it waits for one
	By      string    // who answered
	Time    time.Time // of the answer
	Told    bool      // people were told how it ended. Not read again

	// Delivery waits for the answer of an approval, and shows any other question. Key is its key.
	Delivery int64
	Key      string

	Shown Shown
}

// Shown is the message by which people are asked. It is zero if nobody is asked in a chat yet.
type Shown struct {
	Delivery int64
	Folder   string // of the group in whose name it was sent
	Chat     groups.Address
	Thread   string
	Question Question
	State    State
	ID       string    // the platform's; empty before it is sent
	Time     time.Time // of its receipt
}

// Open reports whether an answer would count.
func (a *Ask) Open(now time.Time) bool { return a.Answer == "" && now.Before(a.Expires) }

// Numbered reports whether people answer it in words, and a message may do so. Without an id they
// do not see it yet, or never.
func (s *Shown) Numbered(m *channel.Inbound) bool {
	reply := ""
	if m.Quote != nil {
		reply = m.Quote.ID
	}
	return s.Question.Numbered && s.ID != "" && (reply == s.ID || reply == "" && m.Thread == s.Thread)
}

// The answers that are recorded of an Ask.
const (
	AnswerYes       = "yes"
	AnswerNo        = "no"
	AnswerNone      = "none"      // its time is over
	AnswerGone      = "gone"      // nobody waits for the answer any more
	AnswerWithdrawn = "withdrawn" // the operator no longer lets the group ask
	AnswerLost      = "lost"      // the bytes were gone
)

const selectAsk = `SELECT a.id, a.policy, a.folder, a.thread, a.session, a.rule, a.about, a.made, a.expires, a.answer, a.by, a.answered, a.delivery, d.key,
	a.shown, coalesce(s.folder, ''), coalesce(s.channel, ''), coalesce(s.chat, ''), coalesce(s.thread, ''),
	coalesce(p.act, ''), coalesce(p.state, ''), coalesce(p.receipt, ''), coalesce(p.receipt_time, 0)
	FROM ask a JOIN delivery d ON d.id = a.delivery LEFT JOIN delivery s ON s.id = a.shown LEFT JOIN part p ON p.delivery = a.shown AND p.act LIKE '{"question"%' `

// asksIn is asked for each text of a member. By "+" the order does not choose the index.
const asksIn = selectAsk + `WHERE a.told = 0 AND a.answer = '' AND a.expires > ? AND s.channel = ? AND s.chat = ? ORDER BY +a.shown DESC`

func scanAsks(rows *sql.Rows, err error) (all []Ask, _ error) {
	err = state.Each(rows, err, func() error {
		var a Ask
		var made, expires, answered, sent int64
		var act string
		err := rows.Scan(&a.ID, &a.Policy, &a.Folder, &a.Thread, &a.Session, &a.Rule, &a.About, &made, &expires, &a.Answer, &a.By, &answered, &a.Delivery, &a.Key,
			&a.Shown.Delivery, &a.Shown.Folder, &a.Shown.Chat.Channel, &a.Shown.Chat.JID, &a.Shown.Thread, &act, &a.Shown.State, &a.Shown.ID, &sent)
		a.Made, a.Expires, a.Time, a.Shown.Time = fromNano(made), fromNano(expires), fromNano(answered), fromNano(sent)
		var p Part
		if err == nil {
			err = p.setAct(act)
		}
		if p.Question != nil {
			a.Shown.Question = *p.Question
		}
		all = append(all, a)
		return err
	})
	return all, ofDatabase("read what people are asked", err)
}

// oneAsk is scanAsks of at most one. Error: ErrNotFound.
func oneAsk(rows *sql.Rows, err error) (*Ask, error) {
	all, err := scanAsks(rows, err)
	if err != nil || len(all) == 0 {
		return nil, cmp.Or(err, ErrNotFound)
	}
	return &all[0], nil
}

// Ask returns what people answer with an id. Error: ErrNotFound.
func (r *Reader) Ask(ctx context.Context, id string) (*Ask, error) {
	return oneAsk(r.db.QueryContext(ctx, selectAsk+`WHERE a.id = ?`, id))
}

// Approval returns what the delivery with that key waits for, or waited. Error: ErrNotFound.
func (r *Reader) Approval(ctx context.Context, key string) (*Ask, error) {
	return oneAsk(r.db.QueryContext(ctx, selectAsk+`WHERE d.key = ? AND a.policy = 'approval'`, key))
}

// Permission returns what a session has asked under an id of its own. Error: ErrNotFound.
func (r *Reader) Permission(ctx context.Context, session string) (*Ask, error) {
	return oneAsk(r.db.QueryContext(ctx, selectAsk+`WHERE a.session = ? AND a.session <> ''`, session))
}

// AskOfPoll returns what a poll of the chat asks. Error: ErrNotFound.
func (r *Reader) AskOfPoll(ctx context.Context, chat groups.Address, poll string) (*Ask, error) {
	return oneAsk(r.db.QueryContext(ctx, selectAsk+`WHERE p.receipt = ? AND p.receipt <> '' AND s.channel = ? AND s.chat = ?`, poll, chat.Channel, string(chat.JID)))
}

// AsksIn returns what a chat is asked and may still answer, newest first.
func (r *Reader) AsksIn(ctx context.Context, chat groups.Address, now time.Time) ([]Ask, error) {
	return scanAsks(r.asks.QueryContext(ctx, nano(now), chat.Channel, string(chat.JID)))
}

// DueAsks returns what has ended and people may not see yet, what nobody has answered in time, and,
// if there are approvers, the approvals that they were not asked for.
func (r *Reader) DueAsks(ctx context.Context, now time.Time, approvers bool) ([]Ask, error) {
	return scanAsks(r.db.QueryContext(ctx, selectAsk+`WHERE a.told = 0 AND (a.answer <> '' OR a.expires <= ? OR a.shown = 0 AND ? = 1) ORDER BY a.expires`,
		nano(now), bit(approvers)))
}

// AsksAnswered returns the approvals that people have answered since then, and the permissions
// that ended since then, the oldest first, as far as the records go back.
func (r *Reader) AsksAnswered(ctx context.Context, since time.Time) ([]Ask, error) {
	return scanAsks(r.db.QueryContext(ctx, selectAsk+`WHERE a.answered >= ? AND (a.policy = 'permission' AND a.answer <> '' OR a.policy = 'approval' AND a.answer IN ('yes', 'no'))
		ORDER BY a.answered`, nano(since)))
}

// OpenAsks counts what a group asks by a policy that takes answers.
func (r *Reader) OpenAsks(ctx context.Context, folder string, p Policy, now time.Time) (n int, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT count(*) FROM ask WHERE told = 0 AND answer = '' AND folder = ? AND policy = ? AND expires > ?`, folder, string(p), nano(now)).Scan(&n)
	return n, ofDatabase("count what people are asked", err)
}

// NextExpiry returns when the next Ask expires; zero if none waits.
func (r *Reader) NextExpiry(ctx context.Context) (time.Time, error) {
	var first int64
	err := r.db.QueryRowContext(ctx, `SELECT coalesce(min(expires), 0) FROM ask WHERE told = 0 AND answer = ''`).Scan(&first)
	return fromNano(first), ofDatabase("look for what people are asked", err)
}

// insertAsks records what a new delivery waits for, what it asks, and that it shows an Ask.
func insertAsks(t *state.Tx, it *Record, now time.Time) (err error) {
	if a := it.Approval; a != nil {
		p := &it.Parts[0]
		if err = t.Exec(`UPDATE part SET code = ?, message = ?, hint = ? WHERE delivery = ?`, p.Code, p.Message, p.Hint, it.ID); err == nil {
			err = insertAsk(t, a, it.ID, 0, now)
		}
	}
	if err == nil && it.Asks != nil {
		err = insertAsk(t, it.Asks, it.ID, it.ID, now)
	}
	for i := range it.Parts {
		if q := it.Parts[i].Question; err == nil && q != nil {
			err = t.Exec(`UPDATE ask SET shown = ?, told = 0 WHERE id = ?`, it.ID, q.Ask)
		}
	}
	return ofDatabase("record what people are asked", err)
}

func insertAsk(t *state.Tx, a *Ask, delivery, shown int64, now time.Time) error {
	return t.Exec(`INSERT INTO ask (id, policy, delivery, shown, folder, thread, session, rule, about, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, string(a.Policy), delivery, shown, a.Folder, a.Thread, a.Session, a.Rule, a.About, nano(now), nano(a.Expires))
}

// AnswerAsk records how an Ask ended, once; people's answers count in time only. Error: ErrDecided.
func AnswerAsk(t *state.Tx, id, what, by string, now time.Time) error {
	n, err := t.Changed(`UPDATE ask SET answer = ?1, by = ?2, answered = ?3
		WHERE id = ?4 AND answer = '' AND (expires > ?3 OR ?1 NOT IN ('yes', 'no', 'lost'))`, what, by, nano(now), id)
	if err == nil && n == 0 {
		return ErrDecided
	}
	return ofDatabase("record an answer", err)
}

// SaveAsk records when an Ask expires, and whether people were told how it ended.
func SaveAsk(t *state.Tx, a *Ask) error {
	err := t.Exec(`UPDATE ask SET expires = ?, told = ? WHERE id = ?`, nano(a.Expires), bit(a.Told), a.ID)
	return ofDatabase("record a question", err)
}

// loseApproval fails the deliveries that wait for an approval and have lost a blob, and adds
// their number to lost.
func loseApproval(t *state.Tx, name string, now time.Time, lost *int64) error {
	asks, err := scanAsks(t.Query(selectAsk+`WHERE a.policy = 'approval' AND a.answer = '' AND a.delivery IN
		(SELECT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state = 'waiting')`, name))
	for i := 0; err == nil && i < len(asks); i++ {
		err = AnswerAsk(t, asks[i].ID, AnswerLost, "", now)
		if errors.Is(err, ErrDecided) { // it has expired, and is refused as soon as the outbox runs
			err = nil
			continue
		}
		*lost++
		if err == nil {
			err = t.Exec(`UPDATE part SET state = 'failed', code = ?, message = ?, hint = ? WHERE delivery = ?`, codeLostBytes, lostMessage, lostHint, asks[i].Delivery)
		}
		if err == nil {
			err = t.Exec(`UPDATE delivery SET bad = (SELECT count(*) FROM part WHERE delivery = delivery.id), changed = ? WHERE id = ?`, nano(now), asks[i].Delivery)
		}
	}
	return err
}

// Refuse ends a delivery that waits for an approval: what is AnswerNo or AnswerNone. Error: ErrDecided.
func Refuse(t *state.Tx, r *Record, id, what, by string, now time.Time) error {
	code, message, hint := CodeNotApproved, "a person looked at it and said no", "do not send it again; ask what to change"
	if what == AnswerNone {
		code, message, hint = CodeApprovalExpired, "nobody said yes to it in time", "ask in the chat whether it is wanted, and then send it again"
	}
	err := AnswerAsk(t, id, what, by, now)
	if err == nil { // its own question is never shown
		err = t.Exec(`UPDATE ask SET answer = 'none', answered = ? WHERE delivery = ? AND answer = ''`, nano(now), r.ID)
	}
	if err == nil {
		err = blob.Delete(t, r.FileBlobs()...)
	}
	if err == nil {
		err = t.Exec(`UPDATE part SET state = 'refused', blob = '', code = ?, message = ?, hint = ? WHERE delivery = ? AND state = 'waiting'`,
			code, message, hint, r.ID)
	}
	if err == nil { // in this commit: when the records are gone, nothing else keeps a link shut
		err = t.Exec(`UPDATE link SET expires = 0 WHERE key = ?`, r.Key)
	}
	if err == nil {
		err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(now), r.ID)
	}
	return err
}
