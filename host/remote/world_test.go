package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

const (
	inboxPath       = "/api/inbox"
	permissionsPath = "/api/permissions"
)

// The bounds where no others are set.
var (
	maxUploads = intake.DefaultLimits().Uploads
	uploadFor  = intake.DefaultLimits().UploadFor
	maxFields  = int(intake.DefaultLimits().Fields)
	maxBuffer  = int(intake.DefaultLimits().Buffer)
)

// world is a server before a queue whose road sends everything.
type world struct {
	listener net.Listener
	*Server
	t     testing.TB
	dir   string
	spool *spool.Spool
	url   string
	stop  func()

	mu   sync.Mutex
	sent []sent
	held bool // nothing is taken
}

type sent struct {
	it      *spool.Item
	content string
}

// settings are a Live.
type settings struct {
	registry *groups.Registry
	keep     time.Duration
	quota    int64
}

func (s *settings) Registry() *groups.Registry            { return s.registry }
func (s *settings) SharesDirectories(g groups.Group) bool { return g.Assistant != "" }
func (s *settings) Wait() time.Duration                   { return 45 * time.Second }
func (s *settings) KeepResults() time.Duration            { return s.keep }
func (s *settings) Quota() int64                          { return s.quota }

type chatsFunc func(groups.Group) ipc.Context

func (f chatsFunc) Context(g groups.Group) ipc.Context { return f(g) }

func chatOf(g groups.Group) ipc.Context {
	return ipc.Context{Folder: g.Folder, Mounts: []ipc.ContextMount{{Path: "/workspace/group"}}}
}

type diskFunc func(int64) (func(), error)

func (f diskFunc) Reserve(n int64) (func(), error) { return f(n) }

func plenty(int64) (func(), error) { return func() {}, nil }

// newWorld begins with the groups a and b, of which only a has an assistant of the host's.
// Addr is where the server listens.
func (w *world) Addr() net.Addr { return w.listener.Addr() }

func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	layout := groups.Layout{State: w.dir}
	all := []groups.Group{
		{Name: "A", Folder: "a", Chat: "mem:a", Channel: "mem", Assistant: "x"},
		{Name: "B", Folder: "b", Chat: "mem:b", Channel: "mem"},
	}
	if err := layout.Prepare(all); err != nil {
		t.Fatal(err)
	}
	registry, err := groups.NewRegistry(all)
	if err != nil {
		t.Fatal(err)
	}
	w.spool = spool.New(spool.Options{Dir: layout.IPCDir(), Folders: []string{"a", "b"}})
	o := Options{
		Listen: "127.0.0.1:0", Dir: layout.Remote(), State: statetest.Open(t, w.dir), Spool: w.spool, Records: w, Chats: chatsFunc(chatOf), Disk: diskFunc(plenty),
		Live: &settings{registry: registry, keep: 7 * 24 * time.Hour, quota: 4 << 20},
	}
	for _, f := range change {
		f(&o)
	}
	if w.Server, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if w.listener, err = w.Listen(); err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + w.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.spool.Run(ctx) })
	running.Go(func() { w.road(ctx) })
	running.Go(func() { w.Sweep(ctx) })
	running.Go(func() {
		if err := w.Serve(ctx, w.listener); err != nil {
			t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		running.Wait()
		if err := w.spool.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// road takes each request once, as the outbox does, and says that it is sent.
func (w *world) road(ctx context.Context) {
	known := map[string]bool{}
	for {
		b, err := w.spool.Next(ctx)
		if err != nil {
			return
		}
		for _, it := range b.Items {
			w.mu.Lock()
			held := w.held
			w.mu.Unlock()
			key := it.ID + it.ModTime.String() + string(it.Body)
			file := append(it.Request.Files, ipc.FileRef{})[0] // a message has none
			switch {
			case held:
				b.Defer(it, &ipc.Refusal{Code: "outbox_full", Message: "full"})
				continue
			case !known[key] && file.Caption == "no":
				b.Refuse(it, &ipc.Refusal{Code: "screened", Message: "it may not leave"})
				continue
			case !known[key]:
				content, _ := os.ReadFile(filepath.Join(w.dir, "ipc", it.Folder, strings.TrimPrefix(file.Path, queueMount)))
				w.mu.Lock()
				w.sent = append(w.sent, sent{it, string(content)})
				w.mu.Unlock()
			}
			known[key] = true
			b.Remove(it)
			_ = w.spool.WriteResult(it.Folder, ipc.Result{ID: it.ID, Status: ipc.Sent, Channel: "mem"})
		}
		b.Done()
	}
}

// Requested is Records.
func (w *world) Requested(_ context.Context, folder, request string) (bool, error) {
	return slices.ContainsFunc(w.all(), func(s sent) bool { return s.it.Folder == folder && s.it.ID == request }), nil
}

func (w *world) hold(yes bool) {
	w.mu.Lock()
	w.held = yes
	w.mu.Unlock()
	w.spool.Wake("a")
}

func (w *world) all() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]sent{}, w.sent...)
}

// unlinked waits until a request that has its result is in no queue any more.
func (w *world) unlinked(folder, id string) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(filepath.Join(w.dir, "ipc", folder, ipc.MessagesDir, id+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-tick.C:
		case <-w.t.Context().Done():
			w.t.Fatal(err)
		}
	}
}

func (w *world) token(folder, thread string) string {
	w.t.Helper()
	made, err := w.Make(context.Background(), folder, thread, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Secret
}

type answered struct {
	ipc.Result
	Error struct{ Code, Message, Hint string }
	http  int
	body  string
}

// ask makes a call; the headers are pairs.
func (w *world) ask(method, path, token string, body io.Reader, headers ...string) answered {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answered{http: res.StatusCode, body: string(b)}
	_ = json.Unmarshal(b, &a)
	return a
}

// send sends JSON.
func (w *world) send(token string, fields map[string]string, headers ...string) answered {
	w.t.Helper()
	b, err := json.Marshal(fields)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.ask("POST", "/api/send-media", token, bytes.NewReader(b), append(headers, "Content-Type", "application/json")...)
}
