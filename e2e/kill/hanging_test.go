package kill

import (
	"testing"
)

func (s *soak) allEnded(t *testing.T, groups []*soakGroup) {
	t.Helper()
	for _, g := range groups {
		for i := range g.asked {
			if !s.ended(g, i) {
				t.FailNow()
			}
		}
	}
}
