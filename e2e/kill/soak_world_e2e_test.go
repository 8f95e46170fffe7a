//go:build e2e

package kill

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// write asks for something every fifth of a second or so, with at most soakOpen requests of
// the group open, until ctx is done. Then it waits for the last results.
func (s *soak) write(ctx context.Context, g *soakGroup) {
	done := len(g.asked)
	for n := done; ctx.Err() == nil; n++ {
		if err := s.ask(g, n); err != nil {
			s.Errorf("%s: %v", g.folder, err)
			return
		}
		for done <= len(g.asked)-soakOpen && s.ended(g, done) {
			done++
		}
		s.pause(time.Duration(50+g.random.IntN(200)) * time.Millisecond)
	}
	for ; done < len(g.asked) && s.ended(g, done); done++ {
	}
}

// ask writes the group's nth request.
func (s *soak) ask(g *soakGroup, n int) error {
	a, r := soakAsk{}, ipc.Request{Type: ipc.TypeFile}
	switch lot := g.random.IntN(100); {
	case lot < 25:
		text := fmt.Sprintf("%s %d %s", g.folder, n, crand.Text())
		r.Type, r.Text, a.parts = ipc.TypeMessage, text, []string{stage.Digest([]byte(text))}
	case lot < 26:
		r.Files, a.code = []ipc.FileRef{{Path: "/workspace/group/nothing"}}, "file_missing"
	case lot < 27:
		r.Files, a.code = []ipc.FileRef{{Path: "/workspace/group/../../etc/passwd"}}, "path_escapes"
	case lot < 28:
		if err := s.place(g, &a, &r, fmt.Sprintf(".env.%d", n), []byte("KEY="+crand.Text())); err != nil {
			return err
		}
		a.code, a.parts, a.bytes = "screened", nil, 0
	default:
		for i := range 1 + g.random.IntN(2) {
			if err := s.place(g, &a, &r, fmt.Sprintf("%d-%d.bin", n, i), g.content()); err != nil {
				return err
			}
		}
	}
	var err error
	a.id, err = s.client(g).Enqueue(s.Context(), r)
	g.asked = append(g.asked, a)
	return err
}

// shown are the hashes of what members of a group see, in order.
func (s *soak) shown(g *soakGroup, page string) (all []string) {
	s.Helper()
	_, id, _ := strings.Cut(g.chat, ":")
	switch g.channel {
	case "slack":
		for _, m := range s.slack.FromBot(id) {
			if len(m.Files) == 0 {
				all = append(all, stage.Digest([]byte(m.Text)))
			}
			for _, f := range m.Files {
				all = append(all, f.SHA256)
			}
		}
	case "telegram":
		n, _ := strconv.ParseInt(id, 10, 64)
		for _, m := range s.tg.WaitFor(s, n, 0) {
			if len(m.Files) == 0 {
				all = append(all, stage.Digest([]byte(m.Text)))
			}
			for _, f := range m.Files {
				all = append(all, f.SHA256)
			}
		}
	default:
		all = (&pageSite{Site: &stage.Site{TB: s}}).shown(page, g.folder)
	}
	return all
}

// page is the address of the host's page, which the host says when it starts.
func (s *soak) page() string {
	s.Helper()
	urls := regexp.MustCompile(`"serving the chat page"[^\n]*http://127\.0\.0\.1:\d+`).FindAllString(s.log.String(), -1)
	if len(urls) == 0 {
		s.Fatalf("the host names no page:\n%s", s.log.String())
	}
	last := urls[len(urls)-1]
	return last[strings.LastIndex(last, "http://"):]
}

// metrics fetches the host's metrics, by name and labels.
func (s *soak) metrics() (map[string]float64, error) {
	socket := filepath.Join(operator.ControlDir(s.cfg.Layout()), "longshore.sock")
	client := http.Client{Timeout: stage.Patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	resp, err := client.Get("http://longshore/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	all := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all, err
}

// descriptors is how many the host has open; 0 without /proc.
func (s *soak) descriptors() int {
	all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.host.Process.Pid))
	return len(all)
}

// leftovers are the files of the state that the page does not show, and the requests in
// the queues.
func (s *soak) leftovers() (all []string) {
	s.Helper()
	roots := []string{filepath.Join(s.cfg.Layout().Own(), "blobs")}
	for _, g := range s.groups {
		roots = append(roots, s.cfg.Layout().IPC(g.folder, ipc.MessagesDir))
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) != ".marker" && !s.onPage(d.Name()) {
				all = append(all, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.Error(err)
		}
	}
	return all
}

// databases are those in the state directory, without those in backups.
func (s *soak) databases() (all []string) {
	s.Helper()
	root := s.cfg.Layout().State
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if path == s.cfg.Layout().Backups() {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".db" {
			rel, _ := filepath.Rel(root, path)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		s.Error(err)
	}
	return all
}

// onPage reports whether a message of the page has a file.
func (s *soak) onPage(blob string) bool {
	return stage.Count(s, s.cfg.Layout().Own(), `SELECT COUNT(*) FROM page_message WHERE blob = ?`, blob) > 0
}

// uncertain are the hashes of what may not have arrived: the outbox keeps it for a retry.
func (s *soak) uncertain() map[string]bool {
	all := map[string]bool{}
	for _, g := range s.groups {
		for _, a := range g.asked {
			for _, p := range a.parts {
				all[p] = all[p] || a.got.Status == ipc.Uncertain
			}
		}
	}
	return all
}

// planned has the group "plan" do a task each minute.
func (s *soak) planned() {
	s.Helper()
	client := s.client(&soakGroup{folder: "plan"})
	id, err := client.Enqueue(s.Context(), ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "say the time", ScheduleType: "interval", ScheduleValue: "60000"})
	if err != nil {
		s.Fatal(err)
	}
	if r, err := client.Wait(stage.Soon(s), id, nil); err != nil || r.Status != ipc.Done {
		data, _ := json.Marshal(r)
		s.Fatalf("the task: %s, %v", data, err)
	}
}
