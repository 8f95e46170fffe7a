package confine

import (
	"fmt"
	"strings"
)

// mapped reports whether the lines of /proc/self/uid_map give this process an
// id. Each line has the first id inside, the first id outside, and their number
// (user_namespaces(7)).
func mapped(lines string, id int) bool {
	for line := range strings.Lines(lines) {
		var inside, outside, count int
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && id >= inside && id-inside < count {
			return true
		}
	}
	return false
}
