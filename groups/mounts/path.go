package mounts

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/media"
)

// maxPath is Linux's PATH_MAX.
const maxPath = 4096

// cleanPath checks the form of a container path and returns it without empty
// and "." components. It refuses rather than repairs: a ".." is not resolved,
// since the place it leads to depends on links, and what only looks like a
// path ("~/x", "file:///x", "x") is not guessed at.
func cleanPath(p string) (string, error) {
	switch {
	case p == "":
		return "", badPath("the path is empty", "name a file, such as /workspace/group/report.pdf")
	case len(p) > maxPath:
		return "", badPath("the path is longer than 4096 bytes", "use a shorter path")
	case !utf8.ValidString(p):
		return "", badPath("the path is not UTF-8", "rename the file and send it under its new name")
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", badPath("the path holds a control character", "rename the file without control characters and send it under its new name")
	case strings.HasPrefix(p, "~"):
		return "", badPath("the path starts with ~, which is not expanded", "write the whole path, such as /workspace/group/report.pdf")
	case strings.Contains(p, "://") || len(p) >= 5 && strings.EqualFold(p[:5], "file:"):
		return "", badPath("a URL is not a path", "write the path of a file, such as /workspace/group/report.pdf; fetch what lies elsewhere first")
	case p[0] != '/':
		return "", badPath("the path is relative", "write the whole path, such as /workspace/group/"+media.Printable(media.Cut(p, 100)))
	case strings.HasSuffix(p, "/"):
		return "", badPath("the path ends with a slash, as a directory's does", "name a file in it")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", &refusal.Error{Code: CodePathEscapes, Message: "the path holds a .. component", Hint: "write the path without .., as realpath prints it"}
		}
	}
	return path.Clean(p), nil
}

func badPath(message, hint string) *refusal.Error {
	return &refusal.Error{Code: CodeBadPath, Message: message, Hint: hint}
}

// within says whether p is dir or lies in it, on a component's edge:
// /workspace/group-evil is not within /workspace/group.
func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}
