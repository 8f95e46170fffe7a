package whatsapp

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel"
)

// An upload may take uploadGrace and a second for each uploadPace bytes more:
// 64 KiB/s is a poor mobile line.
const (
	uploadGrace = time.Minute
	uploadPace  = 64 << 10
)

// overhead is what encryption adds: padding and an authentication code.
const overhead = 16 + 10

// upload encrypts the file into one of its own, which has no name, and brings
// it to WhatsApp's media server. Memory does not grow with the file.
func (s *session) upload(ctx context.Context, m channel.Message, kind whatsmeow.MediaType) (whatsmeow.UploadResponse, error) {
	none := whatsmeow.UploadResponse{}
	ctx, cancel := context.WithTimeout(ctx, uploadGrace+time.Duration(m.File.Size/uploadPace)*time.Second)
	defer cancel()
	release, err := s.reserve(m.File.Size + overhead)
	if err != nil {
		return none, err
	}
	defer release()
	tmp, err := s.tempFile()
	if err != nil {
		return none, err
	}
	defer tmp.Close()
	src, err := m.File.Open()
	if err != nil {
		return none, fmt.Errorf("open accepted file: %w", err)
	}
	defer src.Close()

	up := &upload{body: tmp, progress: newProgress(m.Progress, m.File.Size), renew: s.renewAuth, hosts: s.mediaHosts}
	defer up.progress.stop()
	// Through an interface that has no Close: net/http would close the file.
	dst := struct {
		io.ReadWriteSeeker
		io.WriterAt
	}{tmp, tmp}
	res, err := s.client.UploadReader(context.WithValue(ctx, uploadKey{}, up), &boundedReader{ctx: ctx, r: src, left: m.File.Size}, dst, kind)
	if err != nil {
		return none, diskFull(uploadVerdict(err, up.refused), err)
	}
	if int64(res.FileLength) != m.File.Size || hex.EncodeToString(res.FileSHA256) != m.File.SHA256 {
		return none, &channel.Error{Class: channel.Permanent, Code: "content_changed",
			Message: fmt.Sprintf("%q is no longer what was accepted", m.File.Name), Hint: "send the file again"}
	}
	up.progress.told(m.File.Size)
	return res, nil
}

// reserve asks the host for room on the disk.
func (s *session) reserve(bytes int64) (release func(), err error) {
	if s.w.opts.Reserve == nil {
		return func() {}, nil
	}
	release, err = s.w.opts.Reserve(bytes)
	if err != nil {
		return nil, passing("no_room", "the host has no room for the encrypted copy of the file at the moment", err)
	}
	return release, nil
}

// tempFile is a file without a name, gone when it is closed.
func (s *session) tempFile() (*os.File, error) {
	f, err := os.CreateTemp(s.tempDir(), "media-*") // 0600
	if err != nil {
		return nil, diskFull(fmt.Errorf("make temporary file: %w", err), err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make temporary file: %w", err), f.Close())
	}
	return f, nil
}

func (s *session) tempDir() string { return filepath.Join(s.w.opts.Dir, "whatsapp-tmp") }

// diskFull is otherwise, unless cause is a full disk.
func diskFull(otherwise, cause error) error {
	if errors.Is(cause, syscall.ENOSPC) || errors.Is(cause, syscall.EDQUOT) {
		return passing("disk_full", "the host's disk is full", cause)
	}
	return otherwise
}

// mediaConn is where media go, and with which authorization; the library keeps
// the answer for as long as WhatsApp says.
func (s *session) mediaConn(ctx context.Context, fresh bool) (*whatsmeow.MediaConn, error) {
	conn, err := s.client.DangerousInternals().RefreshMediaConn(ctx, fresh) //nolint:staticcheck // there is no other way to it
	if err != nil {
		return nil, fmt.Errorf("ask for media servers: %w", err)
	}
	return conn, nil
}

// renewAuth asks WhatsApp for a fresh authorization to upload.
func (s *session) renewAuth(ctx context.Context) (string, error) {
	conn, err := s.mediaConn(ctx, true)
	if err != nil {
		return "", err
	}
	return conn.Auth, nil
}

// mediaHosts are the media servers, best first.
func (s *session) mediaHosts(ctx context.Context) ([]string, error) {
	conn, err := s.mediaConn(ctx, false)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, 0, len(conn.Hosts))
	for _, h := range conn.Hosts {
		hosts = append(hosts, h.Hostname)
	}
	return hosts, nil
}

// boundedReader ends with its context, which the library does not look at
// while it encrypts, and passes no more than was accepted.
type boundedReader struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("the file is longer than what was accepted")
	}
	return n, err
}
