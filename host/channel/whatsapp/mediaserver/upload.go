// Package mediaserver uploads files to WhatsApp's media servers and downloads them from there,
// through the library's connection, encrypted and bounded.
package mediaserver

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
)

// overhead is how many bytes encryption adds: padding and an authentication code.
const overhead = 16 + 10

// Client moves files through the library's connection.
type Client struct {
	client  *whatsmeow.Client
	scratch *transfer.Scratch
	most    int64                            // bytes of a member's file
	retries link.Waiters[*events.MediaRetry] // by message id: a phone's answer to askAgain
}

// New returns a Client whose temporary files are in scratch. A member's file may have most bytes.
func New(client *whatsmeow.Client, scratch *transfer.Scratch, most int64) *Client {
	return &Client{client: client, scratch: scratch, most: most}
}

// Upload encrypts the file into a file without a name, and uploads that to
// WhatsApp's media server. Memory does not grow with the file.
func (c *Client) Upload(ctx context.Context, f *channel.File, progress func(int64)) (whatsmeow.UploadResponse, error) {
	none := whatsmeow.UploadResponse{}
	ctx, cancel := context.WithTimeout(ctx, transfer.Patient.Total(f.Size))
	defer cancel()
	tmp, release, err := c.scratch.File(f.Size + overhead)
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

	up := &upload{body: tmp, progress: transfer.NewProgress(progress, f.Size), servers: c}
	defer up.progress.Stop()
	// An interface without Close, since net/http would close the file.
	dst := struct {
		io.ReadWriteSeeker
		io.WriterAt
	}{tmp, tmp}
	res, err := c.client.UploadReader(context.WithValue(ctx, uploadKey{}, up), transfer.Bounded(ctx, src, f.Size), dst, compose.MediaType(f.Kind))
	if err != nil {
		return none, transfer.OrDiskFull(outcomeOf(err, up.refused), err)
	}
	if int64(res.FileLength) != f.Size || hex.EncodeToString(res.FileSHA256) != f.SHA256 {
		return none, transfer.Changed(f.Name, nil)
	}
	up.progress.At(f.Size)
	return res, nil
}

// Refresh asks for the media servers in advance.
func (c *Client) Refresh(ctx context.Context) error {
	_, err := c.mediaConn(ctx, false)
	return err
}

// mediaConn returns the media servers and the authorization for them. The library
// caches the answer for as long as WhatsApp says.
func (c *Client) mediaConn(ctx context.Context, fresh bool) (*whatsmeow.MediaConn, error) {
	conn, err := c.client.DangerousInternals().RefreshMediaConn(ctx, fresh) //nolint:staticcheck // there is no other way to it
	if err != nil {
		return nil, fmt.Errorf("ask for media servers: %w", err)
	}
	return conn, nil
}

// renewAuth asks WhatsApp for a fresh authorization to upload.
func (c *Client) renewAuth(ctx context.Context) (string, error) {
	conn, err := c.mediaConn(ctx, true)
	if err != nil {
		return "", err
	}
	return conn.Auth, nil
}

// hosts returns the media servers, best first.
func (c *Client) hosts(ctx context.Context) ([]string, error) {
	conn, err := c.mediaConn(ctx, false)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, 0, len(conn.Hosts))
	for _, h := range conn.Hosts {
		hosts = append(hosts, h.Hostname)
	}
	return hosts, nil
}
