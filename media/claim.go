package media

import (
	"fmt"
	"mime"
	"strings"
	"time"
)

// Claimed describes a file by the sender's claims alone, without its content. It
// makes the name safe. A file without a name gets one from its kind and time. A
// claim that is not a media type becomes application/octet-stream.
func Claimed(kind Kind, name, mediaType string, size uint64, at time.Time) Info {
	mediaType = claimedType(mediaType)
	if name == "" {
		name = fmt.Sprintf("%s-%s%s", kind, at.UTC().Format("20060102-150405"), ExtensionFor(mediaType))
	}
	return Info{Name: SafeName(name), Kind: kind, MIME: mediaType, Size: int64(min(size, 1<<62))}
}

// maxMediaType is the longest media type: two names of 127 bytes (RFC 6838, section 4.2).
const maxMediaType = 127 + len("/") + 127

// claimedType returns a media type in lower case and without parameters.
func claimedType(claim string) string {
	claim, _, _ = strings.Cut(claim, ";")
	kind, _, err := mime.ParseMediaType(strings.TrimSpace(claim))
	if err != nil || strings.Count(kind, "/") != 1 || len(kind) > maxMediaType {
		return "application/octet-stream"
	}
	return kind
}
