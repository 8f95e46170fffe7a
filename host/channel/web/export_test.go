package web

import (
	"maps"
	"slices"
)

// Routes are the patterns of all that the page answers.
func (w *Web) Routes() []string { return slices.Sorted(maps.Keys(w.routes())) }
