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
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("add group: %w", err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if n := len(lines); lines[n-1] != "" {
		lines[n-1] += "\n"
	} else {
		lines = lines[:n-1]
	}
	value, end := topLevel(file, "groups", len(lines))
	indent, at := 2, len(lines)
	switch value := value.(type) {
	case nil:
		lines = append(lines, "groups:\n")
		at++
	case *ast.NullNode:
		at = value.GetToken().Position.Line
	case *ast.SequenceNode:
		if value.IsFlowStyle {
			return nil, errors.New("add group: the groups stand in brackets: write each on a line of its own that begins with a dash")
		}
		indent = value.Start.Position.Column - 1
		at = end
		for at > 0 && blank(lines[at-1]) {
			at--
		}
	default:
		return nil, errors.New("add group: groups: is no list")
	}
	return []byte(strings.Join(slices.Insert(lines, at, entry(g, indent)...), "")), nil
}

// topLevel finds the value of a key, and the number of the last line before
// the next key.
func topLevel(file *ast.File, key string, last int) (ast.Node, int) {
	for _, doc := range file.Docs {
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
func entry(g groups.Group, indent int) []string {
	var keys []string
	for _, kv := range []struct{ key, value string }{
		{"name", g.Name}, {"folder", g.Folder}, {"chat", string(g.Chat)}, {"channel", g.Channel}, {"trigger", g.Trigger}, {"assistant", g.Assistant},
	} {
		if kv.value != "" {
			keys = append(keys, kv.key+": "+strconv.Quote(kv.value)+"\n")
		}
	}
	if g.Main {
		keys = append(keys, "main: true\n")
	}
	pad := strings.Repeat(" ", indent)
	for i := range keys {
		if i == 0 {
			keys[i] = pad + "- " + keys[i]
		} else {
			keys[i] = pad + "  " + keys[i]
		}
	}
	return keys
}
