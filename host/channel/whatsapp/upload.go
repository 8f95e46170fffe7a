package whatsapp

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
)

// overhead is how many bytes encryption adds: padding and an authentication code.
const overhead = 16 + 10

// upload encrypts the file into a file without a name, and uploads that to
// WhatsApp's media server. Memory does not grow with the file.
func (s *session) upload(ctx context.Context, f *channel.File, progress func(int64)) (whatsmeow.UploadResponse, error) {
	none := whatsmeow.UploadResponse{}
	ctx, cancel := context.WithTimeout(ctx, transfer.Patient.Total(f.Size))
	defer cancel()
	tmp, release, err := s.scratch.File(f.Size + overhead)
	if err != nil {
		return none, err
	}
	defer release()
	defer tmp.Close()
	src, err := f.Open()
	if err != nil {
		return none, fmt.Errorf("open accepted file: %w", err)
	}
	defer src.Close()

	up := &upload{body: tmp, progress: transfer.NewProgress(progress, f.Size), renew: s.renewAuth, hosts: s.mediaHosts}
	defer up.progress.Stop()
	// An interface without Close, since net/http would close the file.
	dst := struct {
		io.ReadWriteSeeker
		io.WriterAt
	}{tmp, tmp}
	res, err := s.client.UploadReader(context.WithValue(ctx, uploadKey{}, up), transfer.Bounded(ctx, src, f.Size), dst, compose.MediaType(f.Kind))
	if err != nil {
		return none, transfer.OrDiskFull(uploadVerdict(err, up.refused), err)
	}
	if int64(res.FileLength) != f.Size || hex.EncodeToString(res.FileSHA256) != f.SHA256 {
		return none, transfer.Changed(f.Name, nil)
	}
	up.progress.At(f.Size)
	return res, nil
}

// mediaConn returns the media servers and the authorization for them. The library
// caches the answer for as long as WhatsApp says.
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

// mediaHosts returns the media servers, best first.
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
