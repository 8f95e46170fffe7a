package media

import (
	"fmt"
	"mime"
	"strings"
	"time"
)

// Claimed is a file as somebody describes it who sends it: nothing of it has been
// looked at. The name is made safe, and a file without one is called by its kind
// and time; what is no media type is application/octet-stream.
func Claimed(kind Kind, name, mediaType string, size uint64, at time.Time) Info {
	mediaType = claimedType(mediaType)
	if name == "" {
		name = fmt.Sprintf("%s-%s%s", kind, at.UTC().Format("20060102-150405"), ExtensionFor(mediaType))
	}
	return Info{Name: SafeName(name), Kind: kind, MIME: mediaType, Size: int64(min(size, 1<<62))}
}

// maxMediaType is the longest media type: two names of 127 bytes (RFC 6838, section 4.2).
const maxMediaType = 127 + len("/") + 127

// claimedType is a media type in lower case and without parameters.
func claimedType(claim string) string {
	claim, _, _ = strings.Cut(claim, ";")
	kind, _, err := mime.ParseMediaType(strings.TrimSpace(claim))
	if err != nil || strings.Count(kind, "/") != 1 || len(kind) > maxMediaType {
		return "application/octet-stream"
	}
	return kind
}
