package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/media"
)

// retryTime is how long a phone has to bring expired media back.
const retryTime = 30 * time.Second

// opener downloads a member's file when it is read: to a file without a name,
// where the library checks its length, its hash and its authentication code.
func (s *session) opener(m *inboundMessage, msg whatsmeow.DownloadableMessage, info media.Info) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		if !s.enter() {
			return nil, errors.New("download: whatsapp is not connected")
		}
		defer s.leave()
		ctx, cancel := s.until(ctx)
		defer cancel()
		if most := s.w.opts.MaxInbound; info.Size > most {
			return nil, fmt.Errorf("%q has %s, and members' files may have %s", info.Name, media.Size(info.Size), media.Size(most))
		}
		release, err := s.reserve(info.Size + overhead)
		if err != nil {
			return nil, err
		}
		f, err := s.download(ctx, m, msg)
		if err != nil {
			release()
			return nil, err
		}
		return &downloaded{File: f, release: release}, nil
	}
}

// downloaded is a file that gives its room back.
type downloaded struct {
	*os.File
	release func()
}

func (d *downloaded) Close() error {
	defer d.release()
	return d.File.Close()
}

func (s *session) download(ctx context.Context, m *inboundMessage, msg whatsmeow.DownloadableMessage) (*os.File, error) {
	f, err := s.tempFile()
	if err != nil {
		return nil, err
	}
	dst := &cappedFile{File: f, most: s.w.opts.MaxInbound + overhead}
	err = s.client.DownloadToFile(ctx, msg, dst)
	if expired(err) {
		if msg, err = s.askAgain(ctx, m, msg); err == nil {
			err = errors.Join(f.Truncate(0), rewind(f))
		}
		if err == nil {
			err = s.client.DownloadToFile(ctx, msg, dst)
		}
	}
	if err == nil {
		err = rewind(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("download a member's file: %w", err), f.Close())
	}
	return f, nil
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// expired says whether the servers no longer have the file.
func expired(err error) bool {
	return errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith403) || errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith404) ||
		errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith410)
}

// askAgain asks the phone that sent the file to upload it once more.
func (s *session) askAgain(ctx context.Context, m *inboundMessage, msg whatsmeow.DownloadableMessage) (whatsmeow.DownloadableMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, retryTime)
	defer cancel()
	answer := make(chan *events.MediaRetry, 1)
	s.retriesMu.Lock()
	s.retries[m.id] = answer
	s.retriesMu.Unlock()
	defer func() {
		s.retriesMu.Lock()
		delete(s.retries, m.id)
		s.retriesMu.Unlock()
	}()
	info := &types.MessageInfo{
		MessageSource: types.MessageSource{Chat: m.info.Chat, Sender: m.info.Sender, IsGroup: m.info.IsGroup}, ID: m.id,
	}
	if err := s.client.SendMediaRetryReceipt(ctx, info, msg.GetMediaKey()); err != nil {
		return nil, fmt.Errorf("ask for it again: %w", err)
	}
	select {
	case e := <-answer:
		retry, err := whatsmeow.DecryptMediaRetryNotification(e, msg.GetMediaKey())
		if err != nil {
			return nil, fmt.Errorf("ask for it again: %w", err)
		}
		if retry.GetResult() != waMmsRetry.MediaRetryNotification_SUCCESS {
			return nil, fmt.Errorf("ask for it again: the phone answers %s", retry.GetResult())
		}
		return elsewhere(msg, retry.GetDirectPath())
	case <-ctx.Done():
		return nil, fmt.Errorf("ask for it again: %w", ctx.Err())
	}
}

// answerRetry passes a phone's answer to whoever waits for it.
func (s *session) answerRetry(e *events.MediaRetry) {
	s.retriesMu.Lock()
	defer s.retriesMu.Unlock()
	if c := s.retries[e.MessageID]; c != nil {
		select {
		case c <- e:
		default:
		}
	}
}

// elsewhere is the same file at another place.
func elsewhere(msg whatsmeow.DownloadableMessage, path string) (whatsmeow.DownloadableMessage, error) {
	switch m := msg.(type) {
	case *waE2E.ImageMessage:
		m = proto.Clone(m).(*waE2E.ImageMessage)
		m.DirectPath, m.URL = &path, nil
		return m, nil
	case *waE2E.VideoMessage:
		m = proto.Clone(m).(*waE2E.VideoMessage)
		m.DirectPath, m.URL = &path, nil
		return m, nil
	case *waE2E.AudioMessage:
		m = proto.Clone(m).(*waE2E.AudioMessage)
		m.DirectPath, m.URL = &path, nil
		return m, nil
	case *waE2E.DocumentMessage:
		m = proto.Clone(m).(*waE2E.DocumentMessage)
		m.DirectPath, m.URL = &path, nil
		return m, nil
	case *waE2E.StickerMessage:
		m = proto.Clone(m).(*waE2E.StickerMessage)
		m.DirectPath, m.URL = &path, nil
		return m, nil
	}
	return nil, fmt.Errorf("ask for it again: unknown kind %T", msg)
}

// cappedFile takes so many bytes and no more, whatever a server sends. It
// hides that it is an *os.File, for which the library would reserve what the
// server claims.
type cappedFile struct {
	*os.File
	most int64
}

var errTooLarge = errors.New("the file is larger than members' files may be")

func (c *cappedFile) Write(p []byte) (int, error) {
	at, err := c.File.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if at+int64(len(p)) > c.most {
		return 0, errTooLarge
	}
	return c.File.Write(p)
}

// ReadFrom hides that of os.File, which would not ask Write.
func (c *cappedFile) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}
