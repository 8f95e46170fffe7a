package whatsapp

// The small files that the readers' own tests make, for the tests of the way
// to a member.
var (
	MP4File  = mp4File
	MP3File  = mp3File
	OpusFile = opusFile
)
