// Package member plays a member of a chat through the HTTP API of the chat page, for the demo, for
// setup and for tests.
package member

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Member is a member of one chat. Base is the page's address without a slash at its end.
type Member struct{ Base, Chat string }

// Messages returns the address of the chat's messages.
func (m Member) Messages() string { return m.Base + "/api/chats/" + m.Chat + "/messages" }

// Say posts a text and returns the id of the message.
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

// Wait returns the messages after the one with the id after, as soon as they have the wanted number
// of files and a text of the assistant. If ctx ends first, the error says what came.
func (m Member) Wait(ctx context.Context, after string, wanted int) ([]history.Message, error) {
	for {
		var page struct{ Messages []history.Message }
		if err := m.Call(ctx, http.MethodGet, m.Messages()+"?after="+after, nil, &page); err != nil {
			return nil, err
		}
		var files, texts int
		for _, msg := range page.Messages {
			if msg.File != nil {
				files++
			} else if msg.Assistant {
				texts++
			}
		}
		if files >= wanted && texts >= 1 {
			return page.Messages, nil
		}
		if !wake.Sleep(ctx, 50*time.Millisecond) {
			return nil, fmt.Errorf("%d files and %d texts came: %w", files, texts, ctx.Err())
		}
	}
}

// Download fetches a file by its path on the page and returns the SHA-256 of its bytes in hex.
func (m Member) Download(ctx context.Context, url string) (sum string, err error) {
	resp, err := m.Do(ctx, http.MethodGet, m.Base+url, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return Sum(resp.Body)
}

// Call makes a request and decodes the JSON of the answer.
func (m Member) Call(ctx context.Context, method, url string, body []byte, answer any) error {
	resp, err := m.Do(ctx, method, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

// Do makes a request. An answer with status 300 or above becomes an error. The caller closes the body.
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
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(said))
	}
	return resp, nil
}

// SumFile finds the file name below dir and returns its SHA-256 in hex. If there is none, the error is
// fs.ErrNotExist.
func SumFile(dir, name string) (string, error) {
	var found string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == name {
			found = path
			return filepath.SkipAll
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", name, err)
	}
	f, err := os.Open(found)
	if err != nil {
		return "", fmt.Errorf("open what the assistant wrote: %w", err)
	}
	defer f.Close()
	return Sum(f)
}

// Sum returns the SHA-256 of r in hex.
func Sum(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SayOnceUp is Say for a page that may not be served yet: it tries until the page answers.
func (m Member) SayOnceUp(ctx context.Context, text string) (string, error) {
	for {
		id, err := m.Say(ctx, text)
		if _, unreachable := errors.AsType[*net.OpError](err); err == nil || !unreachable {
			return id, err
		}
		if !wake.Sleep(ctx, 50*time.Millisecond) {
			return "", errors.Join(ctx.Err(), err)
		}
	}
}
