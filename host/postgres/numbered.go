package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// numbers keeps constant statements with the server's parameters.
type numbers struct{ known sync.Map }

func (n *numbers) of(query string) string {
	if known, ok := n.known.Load(query); ok {
		return known.(string)
	}
	text := numbered(query)
	n.known.Store(query, text)
	return text
}

// numbered turns ? and ?N, outside quotes and comments, into $N.
func numbered(query string) string {
	var b strings.Builder
	next := 0
	for i := 0; i < len(query); {
		switch c := query[i]; {
		case c == '\'' || c == '"':
			i = passed(&b, query, i, string(c), 1)
		case strings.HasPrefix(query[i:], "--"):
			i = passed(&b, query, i, "\n", 2)
		case c == '?':
			digits := i + 1
			for digits < len(query) && query[digits] >= '0' && query[digits] <= '9' {
				digits++
			}
			b.WriteByte('$')
			if digits == i+1 {
				next++
				b.WriteString(strconv.Itoa(next))
			}
			b.WriteString(query[i+1 : digits])
			i = digits
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// passed copies from i up to and with the end, which is looked for after skip bytes.
func passed(b *strings.Builder, query string, i int, end string, skip int) int {
	rest := len(query)
	if n := strings.Index(query[i+skip:], end); n >= 0 {
		rest = i + skip + n + len(end)
	}
	b.WriteString(query[i:rest])
	return rest
}
