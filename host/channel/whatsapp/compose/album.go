package compose

import (
	"slices"
	"strconv"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// MaxAlbum is the largest number of files in an album. The apps take more, but the default
// rates let ten messages go at once.
const MaxAlbum = 10

// AlbumKind is the media.Limit.Album of the kinds that an album may have.
const AlbumKind = "pictures and videos"

// AlbumFileID returns the id of the file at a place in an album, counted from 0.
func AlbumFileID(album string, place int) string {
	return MessageID(album + " " + strconv.Itoa(place))
}

// Album builds the message before an album's files, which says how many follow. Each file is
// a message of its own that names the album. Older apps show each file alone. info may be nil.
func Album(files []channel.File, info *waE2E.ContextInfo) *waE2E.Message {
	a := &waE2E.AlbumMessage{ExpectedImageCount: new(uint32), ExpectedVideoCount: new(uint32), ContextInfo: info}
	for _, f := range files {
		if f.Kind == media.Video {
			*a.ExpectedVideoCount++
		} else {
			*a.ExpectedImageCount++
		}
	}
	return &waE2E.Message{AlbumMessage: a}
}

// AlbumFiles returns how many files an album has, 0 if the message is no album.
func AlbumFiles(m *waE2E.Message) int {
	return int(m.GetAlbumMessage().GetExpectedImageCount() + m.GetAlbumMessage().GetExpectedVideoCount())
}

// CheckAlbum rejects files that the apps show in no album.
func CheckAlbum(files []channel.File) error {
	if !slices.ContainsFunc(files, func(f channel.File) bool { return f.Kind != media.Image && f.Kind != media.Video || f.Loop }) {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "too_many_files",
		Message: "WhatsApp shows only pictures and videos together", Hint: "send the files one by one"}
}
