// Package near finds the name that somebody meant who misspelt it.
package near

import (
	"fmt"
	"strings"
)

// Hint begins with a question if one of the known names is nearly the one that
// was written, and ends with otherwise.
func Hint(written string, known []string, otherwise string) string {
	if meant := Of(written, known); meant != "" {
		return fmt.Sprintf("did you mean %q? %s", meant, otherwise)
	}
	return otherwise
}

// Of is the known name that needs the fewest changes to become the written
// one, and at most one for every three letters. It is empty if there is none.
func Of(written string, known []string) (meant string) {
	most := max(len(written)/3, 1)
	for _, name := range known {
		if n := distance(strings.ToLower(written), strings.ToLower(name)); n <= most && name != written {
			meant, most = name, n-1
		}
	}
	return meant
}

// distance is the number of letters to add, remove, replace, or swap with
// their neighbour, to make b of a. Texts that are much longer than a name are far from
// everything.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 100 || len(y) > 100 {
		return max(len(x), len(y))
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case x[i-1] == y[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
