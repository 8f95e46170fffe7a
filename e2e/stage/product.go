package stage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
)

// The exit codes of longshore's commands, as "longshore help exit-codes" has them.
const (
	ExitOK     = 0
	ExitFault  = 1
	ExitUsage  = 2
	ExitFailed = 4
)

// DemoConfig is the configuration of "longshore demo", seen from a package two
// directories below the root.
func DemoConfig(t *testing.T) string { return Read(t, "../../host/command/demo.yaml") }

// NewLog makes a host's log, of lines of JSON unless the format is text.
func NewLog(w io.Writer, o config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if o.Format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// WebOf is the page of a host that has no channel before it.
func WebOf(h *serve.Host) *web.Web { return channel.Current(h.Channels[0]).(*web.Web) }

// SumOf is the SHA-256 of what r has, in hexadecimal.
func SumOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// SumOfFile is the SHA-256 of the file of that name somewhere below dir.
func SumOfFile(dir, name string) (string, error) {
	found := ""
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == name {
			found = path
			return filepath.SkipAll
		}
		return err
	})
	if err != nil {
		return "", err
	}
	f, err := os.Open(found)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return SumOf(f)
}

// Member is a person in a chat of the page, through its HTTP API.
type Member struct {
	Base string // the page's address, without a slash at its end
	Chat string
}

// Messages is the address of the chat's messages.
func (m Member) Messages() string { return m.Base + "/api/chats/" + m.Chat + "/messages" }

// Say posts a text and returns the message's id.
func (m Member) Say(ctx context.Context, text string) (string, error) {
	body, err := json.Marshal(map[string]string{"text": text, "from": "You"})
	if err != nil {
		return "", err
	}
	var posted struct{ Messages []history.Message }
	if err := m.Call(ctx, http.MethodPost, m.Messages(), body, &posted); err != nil {
		return "", err
	}
	if len(posted.Messages) == 0 {
		return "", errors.New("the page answered with no message")
	}
	return posted.Messages[0].ID, nil
}

// Wait returns what came after a message, once it has so many files and a text of the
// assistant.
func (m Member) Wait(ctx context.Context, after string, files int) ([]history.Message, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var page struct{ Messages []history.Message }
		if err := m.Call(ctx, http.MethodGet, m.Messages()+"?after="+after, nil, &page); err != nil {
			return nil, err
		}
		came, texts := 0, 0
		for _, msg := range page.Messages {
			if msg.File != nil {
				came++
			} else if msg.Assistant {
				texts++
			}
		}
		if came >= files && texts > 0 {
			return page.Messages, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d files and %d texts came: %w", came, texts, ctx.Err())
		case <-tick.C:
		}
	}
}

// Download returns the SHA-256 of a file of the chat.
func (m Member) Download(ctx context.Context, url string) (sum string, err error) {
	resp, err := m.Do(ctx, http.MethodGet, m.Base+url, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return SumOf(resp.Body)
}

// Call makes a request whose answer is JSON.
func (m Member) Call(ctx context.Context, method, url string, body []byte, answer any) error {
	resp, err := m.Do(ctx, method, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

// Do makes a request; an answer of 300 or more is an error.
func (m Member) Do(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		words, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(words))
	}
	return resp, nil
}
