//go:build e2e

package outbox_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/media"
)

// killer ends the process in a step.
type killer struct {
	step string
	mu   sync.Mutex
	left int
}

func (k *killer) at(step string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if step != k.step {
		return
	}
	if k.left--; k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// remote is the channel to the test's platform.
type remote struct {
	fake
	url   string
	newID bool // a mutant
	kill  *killer

	// steps: the platform knows a message again by a ticket, which the channel
	// gets for it and saves.
	steps, forgets bool // forgets is a mutant, which saves nothing
}

func (r *remote) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if r.newID {
		m.ID = rand.Text()
	}
	if r.steps {
		id, err := r.ticket(ctx, m)
		if err != nil {
			return channel.Receipt{}, err
		}
		m.ID = id
	}
	var body io.Reader
	if len(m.Files) > 0 {
		f, err := m.Files[0].Open()
		if err != nil {
			return channel.Receipt{}, err
		}
		defer f.Close()
		body = f
	}
	q := url.Values{"id": {m.ID}, "chat": {string(m.Chat)}, "text": {m.Text}}
	if _, err := get(ctx, http.MethodPost, r.url+"/send", q, body); err != nil {
		return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Message: "no answer", Err: err}
	}
	r.kill.at("shown")
	return channel.Receipt{ID: m.ID}, nil
}

func (r *remote) ticket(ctx context.Context, m channel.Message) (string, error) {
	if m.State != nil {
		return string(m.State), nil
	}
	t := rand.Text()
	if r.forgets {
		return t, nil
	}
	err := m.Save(ctx, []byte(t))
	r.kill.at("saved")
	return t, err
}

// remoteFinder is the same for a platform that can be asked.
type remoteFinder struct{ *remote }

func (r remoteFinder) Repeat() channel.Repeat { return channel.Repeat{} }

func (r remoteFinder) Find(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	status, err := get(ctx, http.MethodGet, r.url+"/sent", url.Values{"id": {m.ID}}, nil)
	if err != nil || status == http.StatusNotFound {
		return nil, err
	}
	return &channel.Receipt{ID: m.ID}, nil
}

// host is the process that is killed: it carries requests from a spool into
// an outbox, which sends them, until nothing is left.
func host() error {
	dir, mutant := os.Getenv("OUTBOX_TEST_DIR"), os.Getenv("OUTBOX_TEST_MUTANT")
	k := &killer{}
	step, left, _ := strings.Cut(os.Getenv("OUTBOX_TEST_KILL"), ":")
	k.step = step
	k.left, _ = strconv.Atoi(left)
	r := &remote{fake: fake{name: "fake"}, url: os.Getenv("OUTBOX_TEST_URL"), kill: k, newID: mutant == "new id per attempt",
		steps: os.Getenv("OUTBOX_TEST_STEPS") == "true", forgets: mutant == "nothing is saved"}
	var ch channel.Channel = acting{r}
	if os.Getenv("OUTBOX_TEST_ASKS") == "true" && mutant != "no question before the retry" {
		ch = remoteFinder{r}
	}
	o, err := newBox(filepath.Join(dir, "state"), outbox.Options{
		Channels: []channel.Channel{ch},
		Trace:    func(_, _, step string) { k.at(step) },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- o.Run(ctx) }()
	if err := spool(o, filepath.Join(dir, "spool"), k, mutant == "put returns before the record"); err != nil {
		cancel()
		return err
	}
	if err := approveAll(o); err != nil {
		cancel()
		return err
	}
	for {
		s, err := o.Stats(context.Background())
		if err != nil || s.Pending == 0 {
			cancel()
			<-ran
			return err
		}
		c, err := o.NextChanges(ctx)
		if err != nil {
			cancel()
			return err
		}
		c.Done()
	}
}

// approveAll says yes to all that waits, in order.
func approveAll(o *box) error {
	waiting, err := o.List(context.Background(), records.Filter{State: records.FilterWaiting})
	for _, d := range slices.Backward(waiting) {
		if failed := o.Decide(context.Background(), d.Key, true, "ann"); failed != nil {
			return failed
		}
	}
	return err
}

// spool accepts the requests: snapshot, record, unlink. early is a mutant that
// unlinks first.
func spool(o *box, dir string, k *killer, early bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		k.at("read")
		d, err := accept(o, path, e.Name())
		if err != nil {
			return err
		}
		k.at("copied")
		record := func() error {
			err := o.Put(context.Background(), []records.Delivery{d})
			k.at("recorded")
			return err
		}
		unlink := func() error {
			err := os.Remove(path)
			k.at("unlinked")
			return err
		}
		steps := []func() error{record, unlink}
		if early {
			steps = []func() error{unlink, record}
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}

func accept(o *box, path, name string) (records.Delivery, error) {
	f, err := os.Open(path)
	if err != nil {
		return records.Delivery{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return records.Delivery{}, err
	}
	b, err := o.CopyFile(context.Background(), f, st.Size())
	if err != nil {
		return records.Delivery{}, err
	}
	var i int
	if _, err := fmt.Sscanf(name, "%d", &i); err != nil {
		return records.Delivery{}, err
	}
	_, chat, _ := request(i)
	d := text(chat, name+"a", name+"b")
	d.Parts[1].Files = []records.File{{Info: media.Info{Name: name, Size: b.Size}, SHA256: b.SHA256, Blob: b.Name, Bytes: b.Bytes}}
	if os.Getenv("OUTBOX_TEST_ACTS") == "true" {
		d = withActs(d, name)
	}
	if os.Getenv("OUTBOX_TEST_WAITS") == "true" {
		d.Approval = &records.Ask{Rule: "approve.files", Expires: time.Now().Add(time.Hour)}
	}
	return d, nil
}
