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
// and "." components. It does not repair: a ".." is refused, since its target
// depends on links, and so is anything that only resembles a path ("~/x",
// "file:///x", "x").
func cleanPath(p string) (string, error) {
	switch {
	case p == "":
		return "", badPath("the path is empty", "name a file, such as /workspace/group/report.pdf")
	case len(p) > maxPath:
		return "", badPath("the path is longer than 4096 bytes", "use a shorter path")
	case !utf8.ValidString(p):
		return "", badPath("the path is not UTF-8", "rename the file and send it under its new name")
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", badPath("the path contains a control character", "rename the file without control characters and send it under its new name")
	case strings.HasPrefix(p, "~"):
		return "", badPath("the path starts with ~, which is not expanded", "write the whole path, such as /workspace/group/report.pdf")
	case strings.Contains(p, "://") || len(p) >= 5 && strings.EqualFold(p[:5], "file:"):
		return "", badPath("a URL is not a path", "write the path of a file, such as /workspace/group/report.pdf; download the file first")
	case p[0] != '/':
		return "", badPath("the path is relative", "write the whole path, such as /workspace/group/"+media.Printable(media.Cut(p, 100)))
	case strings.HasSuffix(p, "/"):
		return "", badPath("the path ends with a slash, like that of a directory", "name a file in it")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", &refusal.Error{Code: CodePathEscapes, Message: "the path contains a .. component", Hint: "write the path without .., as realpath prints it"}
		}
	}
	return path.Clean(p), nil
}

func badPath(message, hint string) *refusal.Error {
	return &refusal.Error{Code: CodeBadPath, Message: message, Hint: hint}
}

// within reports whether p is dir or is in dir, by whole components:
// /workspace/group-evil is not within /workspace/group.
func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}
