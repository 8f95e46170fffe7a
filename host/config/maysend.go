package config

import (
	"strings"

	"github.com/longshore-bridge/longshore/groups"
)

// maySend rejects a policy that would permit no file: it is rather a slip.
func (c *checker) maySend(key string, m groups.MaySend) {
	if m.Kinds != nil && len(m.Kinds) == 0 {
		c.bad(key+".kinds", "the list is empty", "name the kinds that may leave, or leave the key out")
	}
	if from, to, given := strings.Cut(string(m.Hours), "-"); given && from == to {
		c.bad(key+".hours", "the hours end where they begin", "write 00:00-24:00 for the whole day, or leave the key out")
	}
}
