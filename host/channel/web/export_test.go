package web

import (
	"maps"
	"slices"
)

// Routes are the patterns of all that the page answers.
func (w *Web) Routes() []string { return slices.Sorted(maps.Keys(w.routes())) }

// Subscriptions is how many browsers want to be notified; -1: it cannot be read.
func Subscriptions(w *Web) (n int) {
	if w.opts.State.QueryRow("SELECT count(*) FROM page_push").Scan(&n) != nil {
		return -1
	}
	return n
}
