package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/serve"
)

// demoTurn is how long the demo's turn may take.
const demoTurn = 2 * time.Minute

// playOnce plays a member who asks for the report, and checks the answer.
func (d *demo) playOnce(ctx context.Context, h *serve.Host, steps *steps) error {
	ctx, cancel := context.WithTimeout(ctx, demoTurn)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	err := d.turn(ctx, h, steps)
	cancel()
	return errors.Join(err, <-ended)
}

func (d *demo) turn(ctx context.Context, h *serve.Host, steps *steps) error {
	m := member{base: strings.TrimRight(webOf(h).URL(), "/"), chat: "family"}
	steps.note("family", "", `member writes "send me the report"`)
	asked, err := m.say(ctx, "send me the report")
	if err != nil {
		return fmt.Errorf("write to the chat: %w", err)
	}
	answer, err := m.wait(ctx, asked, 2)
	if err != nil {
		return fmt.Errorf("wait for the files: %w", err)
	}
	steps.note("family", "", "member sees the answer")
	steps.print(d.stdout)
	for _, msg := range answer {
		if msg.File == nil {
			fmt.Fprintf(d.stdout, "text   %q\n", msg.Text)
			continue
		}
		if err := d.compare(ctx, h, m, msg.File); err != nil {
			return err
		}
	}
	return nil
}

// compare checks that the received bytes are those of the file in the workspace.
func (d *demo) compare(ctx context.Context, h *serve.Host, m member, f *web.File) error {
	received, err := m.download(ctx, f.URL)
	if err != nil {
		return fmt.Errorf("download %s: %w", f.Name, err)
	}
	wrote, err := sumOfFile(h.Layout.Workspace("family"), f.Name)
	if err != nil {
		return err
	}
	if received != wrote || received != f.SHA256 {
		return fmt.Errorf("%s: received %s, the chat says %s, the assistant wrote %s", f.Name, received, f.SHA256, wrote)
	}
	fmt.Fprintf(d.stdout, "file   %s, %s, %d bytes, sha256 %s as written\n", f.Name, f.MIME, f.Size, received)
	return nil
}

// sumOfFile finds name below dir and hashes it.
func sumOfFile(dir, name string) (string, error) {
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
	return sumOf(f)
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// member is somebody in a chat, through the HTTP API.
type member struct{ base, chat string }

func (m member) messages() string { return m.base + "/api/chats/" + m.chat + "/messages" }

// say posts a text and returns the id of the message.
func (m member) say(ctx context.Context, text string) (string, error) {
	body, err := json.Marshal(map[string]string{"text": text, "from": "You"})
	if err != nil {
		return "", err
	}
	var posted struct{ Messages []web.Message }
	if err := m.call(ctx, http.MethodPost, m.messages(), body, &posted); err != nil {
		return "", err
	}
	if len(posted.Messages) == 0 {
		return "", errors.New("the page answered with no message")
	}
	return posted.Messages[0].ID, nil
}

// wait returns what the assistant wrote after the message, once there are so many
// files and a text.
func (m member) wait(ctx context.Context, after string, wanted int) ([]web.Message, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var page struct{ Messages []web.Message }
		if err := m.call(ctx, http.MethodGet, m.messages()+"?after="+after, nil, &page); err != nil {
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
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d files and %d texts came: %w", files, texts, ctx.Err())
		case <-tick.C:
		}
	}
}

func (m member) download(ctx context.Context, url string) (sum string, err error) {
	resp, err := m.do(ctx, http.MethodGet, m.base+url, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return sumOf(resp.Body)
}

func (m member) call(ctx context.Context, method, url string, body []byte, answer any) error {
	resp, err := m.do(ctx, method, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

func (m member) do(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
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

// steps records what happens to requests, each with the time since the start.
type steps struct {
	mu    sync.Mutex
	begin time.Time
	lines []string
}

func newSteps() *steps { return &steps{begin: time.Now()} }

// maxSteps bounds what a demo that runs for long remembers.
const maxSteps = 200

// note is a host's trace.
func (s *steps) note(folder, request, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) < maxSteps {
		at := time.Since(s.begin).Seconds() * 1000
		s.lines = append(s.lines, fmt.Sprintf("%9.2f ms  %-8s %-14s %s", at, folder, shortRequest(request), step))
	}
}

func (s *steps) print(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		fmt.Fprintln(w, line)
	}
}

// shortRequest is the end of a request's id, which tells requests apart.
func shortRequest(id string) string {
	if len(id) > 12 {
		return "…" + id[len(id)-12:]
	}
	return id
}
