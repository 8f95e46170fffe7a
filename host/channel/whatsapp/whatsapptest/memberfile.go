package whatsapptest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// File is a file that a member sends.
type File struct {
	// Kind is document, image, video, ptv (a round note), audio, voice or sticker; document where empty.
	Kind    string
	Name    string // documents
	MIME    string
	Caption string // documents, images and videos
	Body    io.Reader
}

// SendFile uploads a file and sends it, with flat memory. It returns the
// message's id.
func (m *Member) SendFile(ctx context.Context, chat types.JID, f File) (types.MessageID, error) {
	message, err := m.Upload(ctx, f)
	if err != nil {
		return "", err
	}
	return m.Send(ctx, chat, message)
}

// Upload uploads a file and returns the message that would send it, for what Send
// sends otherwise: forwarded, quoted, wrapped.
func (m *Member) Upload(ctx context.Context, f File) (*waE2E.Message, error) {
	kind := map[string]whatsmeow.MediaType{
		"": whatsmeow.MediaDocument, "document": whatsmeow.MediaDocument, "image": whatsmeow.MediaImage, "sticker": whatsmeow.MediaImage,
		"video": whatsmeow.MediaVideo, "ptv": whatsmeow.MediaVideo, "audio": whatsmeow.MediaAudio, "voice": whatsmeow.MediaAudio,
	}[f.Kind]
	if kind == "" {
		return nil, fmt.Errorf("no kind of file is called %q", f.Kind)
	}
	up, err := m.Client.UploadReader(ctx, f.Body, nil, kind)
	if err != nil {
		return nil, err
	}
	return fileMessage(f, up), nil
}

func fileMessage(f File, up whatsmeow.UploadResponse) *waE2E.Message {
	var caption *string
	if f.Caption != "" {
		caption = &f.Caption
	}
	now := proto.Int64(time.Now().Unix())
	switch f.Kind {
	case "image":
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			Mimetype: &f.MIME, Caption: caption, MediaKeyTimestamp: now,
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}}
	case "sticker":
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			Mimetype: &f.MIME, MediaKeyTimestamp: now,
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}}
	case "video", "ptv":
		film := &waE2E.VideoMessage{
			Mimetype: &f.MIME, Caption: caption, MediaKeyTimestamp: now,
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}
		if f.Kind == "ptv" {
			return &waE2E.Message{PtvMessage: film}
		}
		return &waE2E.Message{VideoMessage: film}
	case "audio", "voice":
		return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
			Mimetype: &f.MIME, PTT: proto.Bool(f.Kind == "voice"), MediaKeyTimestamp: now,
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}}
	}
	document := &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		Mimetype: &f.MIME, FileName: &f.Name, Title: &f.Name, Caption: caption, MediaKeyTimestamp: now,
		URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
		FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
	}}
	if caption == nil {
		return document
	}
	return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: document}}
}

// Text is the words of a text message or of a file's caption.
func Text(m *waE2E.Message) string {
	for _, words := range []string{
		m.GetConversation(), m.GetExtendedTextMessage().GetText(), m.GetDocumentMessage().GetCaption(),
		m.GetImageMessage().GetCaption(), m.GetVideoMessage().GetCaption(),
	} {
		if words != "" {
			return words
		}
	}
	return ""
}

// Downloadable is the part of a message that a file can be downloaded by; nil
// where there is none.
func Downloadable(m *waE2E.Message) whatsmeow.DownloadableMessage {
	if inner := m.GetDocumentWithCaptionMessage().GetMessage(); inner != nil {
		m = inner
	}
	switch {
	case m.GetDocumentMessage() != nil:
		return m.DocumentMessage
	case m.GetImageMessage() != nil:
		return m.ImageMessage
	case m.GetVideoMessage() != nil:
		return m.VideoMessage
	case m.GetPtvMessage() != nil:
		return m.PtvMessage
	case m.GetAudioMessage() != nil:
		return m.AudioMessage
	case m.GetStickerMessage() != nil:
		return m.StickerMessage
	}
	return nil
}

// Received is a file after its download and decryption.
type Received struct {
	Size   int64
	SHA256 string // hexadecimal
}

// Fetch downloads and decrypts the file of a message, checks the hashes that
// the message names, and measures it with flat memory.
func (m *Member) Fetch(ctx context.Context, message *waE2E.Message) (Received, error) {
	part := Downloadable(message)
	if part == nil {
		return Received{}, fmt.Errorf("message holds no file")
	}
	f, err := os.CreateTemp("", "whatsapptest-*")
	if err != nil {
		return Received{}, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return Received{}, err
	}
	if err := m.Client.DownloadToFile(ctx, part, f); err != nil {
		return Received{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Received{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return Received{Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// Download is Fetch with the bytes themselves, for small files.
func (m *Member) Download(ctx context.Context, message *waE2E.Message) ([]byte, error) {
	part := Downloadable(message)
	if part == nil {
		return nil, fmt.Errorf("message holds no file")
	}
	return m.Client.Download(ctx, part)
}
