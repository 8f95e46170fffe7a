package bot

import (
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// FileLimits are those of a platform that takes files of all kinds in one message, with so many bytes each or as
// many as own says, and a caption. Its apps are browsers, or play no more than browsers do.
func FileLimits(bytes int64, caption int, own groups.KindLimits) map[media.Kind]media.Limit {
	all := map[media.Kind]media.Limit{}
	for _, kind := range media.Kinds() {
		limit := media.Limit{Bytes: bytes, Caption: caption, Album: "files"}
		if n, ok := own[string(kind)]; ok {
			limit.Bytes = n
		}
		if kind == media.Video || kind == media.Audio {
			limit.MIME, limit.Codecs = media.BrowserTypes(kind), media.BrowserCodecs()
		}
		all[kind] = limit
	}
	return all
}
