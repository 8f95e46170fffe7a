package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/longshore-bridge/longshore/groups"
)

// AddGroup returns the configuration text with one more group after the existing
// ones. Everything else stays as it is, comments too. It does not check the group:
// the caller parses the result before writing it.
func AddGroup(text []byte, g groups.Group) ([]byte, error) {
	if tooDeep(string(text)) > 0 {
		return nil, errors.New("add group: too many lists or blocks stand in one another")
	}
	file, err := parser.ParseBytes([]byte(plainText(string(text))), 0)
	if err != nil {
		return nil, fmt.Errorf("add group: %w", err)
	}
	lines, end := linesOf(string(text))
	value, last := topLevel(file, "groups", len(lines))
	indent, at := 2, last
	switch value := value.(type) {
	case nil:
		lines = slices.Insert(lines, at, "groups:"+end)
		at++
	case *ast.NullNode:
		at = value.GetToken().Position.Line
	case *ast.SequenceNode:
		if value.IsFlowStyle {
			if at = value.Start.Position.Line; len(value.Values) > 0 || !strings.Contains(lines[at-1], "[]") {
				return nil, errors.New("add group: the groups stand in brackets: write each on a line of its own that begins with a dash")
			}
			lines[at-1] = strings.Replace(lines[at-1], " []", "", 1)
			break
		}
		indent = value.Start.Position.Column - 1
		at = afterItem(lines, last, indent)
	default:
		return nil, errors.New("add group: groups: is no list")
	}
	return []byte(strings.Join(slices.Insert(lines, at, entry(g, indent, end)...), "")), nil
}

// linesOf returns the lines of a text with their ends, and the end that its lines have.
func linesOf(text string) (lines []string, end string) {
	end = "\n"
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		end = "\r\n"
	}
	lines = strings.SplitAfter(text, "\n")
	if n := len(lines); lines[n-1] != "" {
		lines[n-1] += end
	} else {
		lines = lines[:n-1]
	}
	return lines, end
}

// afterItem returns the number of the last line that belongs to the list whose dashes
// stand in the column indent. Comments that are indented more than the dash belong to the
// last item; others, to what follows.
func afterItem(lines []string, last, indent int) int {
	at := last
	for at > 0 && blank(lines[at-1]) {
		at--
	}
	for at < last && strings.TrimSpace(lines[at]) != "" && len(lines[at])-len(strings.TrimLeft(lines[at], " ")) > indent {
		at++
	}
	return at
}

// topLevel finds the value of a key, and the number of the last line before
// the next key.
func topLevel(file *ast.File, key string, last int) (ast.Node, int) {
	for _, doc := range file.Docs {
		if doc.End != nil {
			last = min(last, doc.End.Position.Line-1)
		}
		pairs := entriesOf(doc.Body)
		for i, pair := range pairs {
			if pair.Key.GetToken().Value != key {
				continue
			}
			if i+1 < len(pairs) {
				last = pairs[i+1].Key.GetToken().Position.Line - 1
			}
			return pair.Value, last
		}
	}
	return nil, last
}

// blank says that a line holds nothing but a comment.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

// entry is the group as a block of the list. JSON's quotes are YAML's.
func entry(g groups.Group, indent int, end string) []string {
	var keys []string
	for _, kv := range []struct{ key, value string }{
		{"name", g.Name}, {"folder", g.Folder}, {"chat", string(g.Chat)}, {"channel", g.Channel}, {"trigger", g.Trigger}, {"assistant", g.Assistant},
	} {
		if kv.value != "" {
			keys = append(keys, kv.key+": "+strconv.Quote(kv.value)+end)
		}
	}
	if g.Main {
		keys = append(keys, "main: true"+end)
	}
	pad := strings.Repeat(" ", indent) + "- "
	for i := range keys {
		keys[i], pad = pad+keys[i], strings.Repeat(" ", indent+2)
	}
	return keys
}
