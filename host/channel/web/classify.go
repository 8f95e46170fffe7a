package web

import (
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

func classify(name string, head []byte, size int64) media.Info {
	t := http.DetectContentType(head)
	k := media.Document
	switch strings.Split(t, "/")[0] {
	case "image":
		k = media.Image
	case "video":
		k = media.Video
	case "audio":
		k = media.Audio
	}
	return media.Info{Name: name, Kind: k, MIME: t, Size: size}
}

func defaultLimits() media.Limits {
	return media.Limits{Text: 4096, Kinds: map[media.Kind]media.Limit{media.Document: {Bytes: 100 << 20, Caption: 1024}, media.Image: {Bytes: 16 << 20, Caption: 1024}, media.Video: {Bytes: 64 << 20}, media.Audio: {Bytes: 16 << 20}}}
}
