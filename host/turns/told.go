package turns

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxTolds = 200       // pairs of channel and kind that are counted apart: kinds are foreign
	toldRest = "other"   // the kind of those beyond, and of one that has no valid name
	toldLog  = time.Hour // between two lines of the log about one pair
)

// Told counts members' messages of one kind that a channel could only describe in words.
type Told struct {
	Channel string `json:"channel"`
	Kind    string `json:"kind"` // the platform's name of it
	Count   int64  `json:"count"`
}

// tolds counts by channel and kind. The zero value is ready.
type tolds struct {
	mu  sync.Mutex
	all map[Told]*toldCount // without Count
}

type toldCount struct {
	n      int64
	logged time.Time
}

// add counts one message. It reports whether the log is to say so.
func (t *tolds) add(on, kind string) (log bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[Told]*toldCount{}
	}
	k := Told{Channel: on, Kind: kind}
	if !channel.ToldName(kind) || t.all[k] == nil && len(t.all) >= maxTolds {
		k.Kind = toldRest
	}
	if t.all[k] == nil {
		t.all[k] = &toldCount{}
	}
	c := t.all[k]
	c.n++
	if log = c.logged.IsZero() || time.Since(c.logged) >= toldLog; log {
		c.logged = time.Now()
	}
	return log
}

// Told returns the counts, sorted by channel and kind.
func (m *Manager) Told() (all []Told) {
	m.tolds.mu.Lock()
	defer m.tolds.mu.Unlock()
	for k, c := range maps.All(m.tolds.all) {
		k.Count = c.n
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// countTold counts a message that is only told in words, and names its kind in the log at most
// once an hour.
func (m *Manager) countTold(channel, folder, kind string) {
	if kind == "" {
		return
	}
	if m.tolds.add(channel, kind) {
		m.o.Log.Info("a member's message is only told in words", "channel", channel, "group", folder, "kind", media.Printable(media.Cut(kind, 64)))
	}
}
