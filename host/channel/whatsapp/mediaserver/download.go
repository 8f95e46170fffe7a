package mediaserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// retryTime is how long a phone has to bring expired media back.
const retryTime = 30 * time.Second

// remoteFile is a member's file on WhatsApp's media servers, as the message
// describes the file. The URL in the message is ignored: its writer chose it.
type remoteFile struct {
	kind      whatsmeow.MediaType
	path      string // without the host, which WhatsApp's server chooses
	key       []byte // 32 bytes, like both hashes
	encrypted []byte // SHA-256 of the ciphertext
	plain     []byte // SHA-256 of the content
	size      int64
}

// remote reads the description of a message's file. An error means that the file
// cannot be fetched: without the key and both hashes, nobody can tell whether the
// server's bytes are those that the member sent.
func remote(msg whatsmeow.DownloadableMessage, size int64) (remoteFile, error) {
	f := remoteFile{
		kind: whatsmeow.GetMediaType(msg), path: msg.GetDirectPath(), key: msg.GetMediaKey(),
		encrypted: msg.GetFileEncSHA256(), plain: msg.GetFileSHA256(), size: size,
	}
	if f.kind == "" || len(f.key) != 32 || len(f.encrypted) != 32 || len(f.plain) != 32 {
		return f, channel.Unfetchable("the message lacks the file's key or its hashes")
	}
	return f, checkPath(f.path)
}

// maxPath is longer than any path that WhatsApp's servers give, in bytes.
const maxPath = 2048

// checkPath accepts a path that stays on the host to which it is joined: it begins
// with one slash, and cannot name another host.
func checkPath(path string) error {
	_, err := url.ParseRequestURI(path) // the library would treat an invalid address as a network error, and try again
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || len(path) > maxPath ||
		strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\@#`, r) }) {
		return channel.Unfetchable("the message names no place on WhatsApp's media servers")
	}
	return nil
}

// Download downloads a file into a file without a name. The library checks
// the length, the hashes and the authentication code. Download ends with an error if
// the bytes come more slowly than speed. If the servers no longer have the file, the phone
// that sent it is asked to upload it again; from is the file's message, nil if no phone
// can be asked.
func (c *Client) Download(ctx context.Context, msg whatsmeow.DownloadableMessage, info media.Info, from *types.MessageInfo, speed transfer.Speed) (io.ReadCloser, error) {
	f, err := remote(msg, info.Size)
	if err != nil {
		return nil, err
	}
	if f.size > c.most {
		return nil, channel.Unfetchable(fmt.Sprintf("%q has %s, and members' files may have %s", info.Name, media.Size(f.size), media.Size(c.most)))
	}
	ctx, expire := context.WithTimeoutCause(ctx, speed.Total(f.size), transfer.ErrSlow)
	defer expire()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tmp, err := c.scratch.Bounded(f.size + overhead)
	if err != nil {
		return nil, err
	}
	down := &download{speed: speed, stop: stop, file: tmp}
	if err := c.download(context.WithValue(ctx, downloadKey{}, down), from, f, down); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, errors.Join(fmt.Errorf("download a member's file: %w", err), tmp.Close())
	}
	return tmp.File, nil
}

// downloadKey is where a request's context holds its *download.
type downloadKey struct{}

// download is one file that is being fetched.
type download struct {
	speed transfer.Speed
	stop  context.CancelCauseFunc // ends all further attempts of the library
	file  *transfer.File
}

func (c *Client) download(ctx context.Context, from *types.MessageInfo, f remoteFile, down *download) error {
	err := c.get(ctx, f, down)
	if expired(err) && from == nil {
		return channel.Unfetchable("the file is no longer kept")
	}
	if expired(err) {
		if f.path, err = c.askAgain(ctx, from, f.key); err != nil {
			return err
		}
		err = c.get(ctx, f, down)
	}
	if err != nil {
		return err
	}
	return rewind(down.file.File)
}

// get makes the library download a file by its path and hashes alone.
func (c *Client) get(ctx context.Context, f remoteFile, down *download) error {
	if err := errors.Join(down.file.Truncate(0), rewind(down.file.File)); err != nil {
		return err
	}
	return c.client.DownloadMediaWithPathToFile(ctx, f.path, f.encrypted, f.plain, f.key, int(f.size), f.kind, "", down.file)
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// expired reports whether err means that the servers no longer have the file.
func expired(err error) bool {
	return errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith403) || errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith404) ||
		errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith410)
}

// Answered takes a phone's answer to askAgain.
func (c *Client) Answered(e *events.MediaRetry) { c.retries.Tell(e.MessageID, e) }

// askAgain asks the phone that sent the file to upload the file again, and returns
// its new path.
func (c *Client) askAgain(ctx context.Context, from *types.MessageInfo, key []byte) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, retryTime)
	defer cancel()
	answer, end := c.retries.Expect(from.ID)
	defer end()
	if err := c.client.SendMediaRetryReceipt(ctx, from, key); err != nil {
		return "", fmt.Errorf("ask for it again: %w", err)
	}
	select {
	case e := <-answer:
		retry, err := whatsmeow.DecryptMediaRetryNotification(e, key)
		if errors.Is(err, whatsmeow.ErrMediaNotAvailableOnPhone) {
			return "", channel.Unfetchable("neither WhatsApp's servers nor the sender's phone have the file any more")
		}
		if err != nil {
			return "", fmt.Errorf("ask for it again: %w", err)
		}
		if retry.GetResult() != waMmsRetry.MediaRetryNotification_SUCCESS {
			return "", fmt.Errorf("ask for it again: the phone answers %s", retry.GetResult())
		}
		return retry.GetDirectPath(), checkPath(retry.GetDirectPath())
	case <-ctx.Done():
		return "", fmt.Errorf("ask for it again: %w", ctx.Err())
	}
}
