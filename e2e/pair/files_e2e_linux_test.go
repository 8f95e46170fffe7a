//go:build e2e

package pair

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/internal/pgtest"
	"github.com/longshore-bridge/longshore/internal/s3test"
)

// place is where the files of a pair lie.
type place struct {
	yaml string // of state.files
	dir  string // a small file system of its own, which has the bytes
	gone func(*testing.T) (back func())
	late func() (inTime func()) // nil: a test cannot slow it down
}

// places are the two kinds.
var places = map[string]func(t *testing.T) place{
	"a directory": func(t *testing.T) place {
		above := filepath.Join(t.TempDir(), "a")
		dir := filepath.Join(above, "files")
		small(t, dir)
		return place{yaml: dir, dir: dir, gone: func(t *testing.T) func() {
			must(t, os.Rename(above, above+"way"))
			must(t, os.MkdirAll(dir, 0o700)) // the mount point alone
			return func() {
				must(t, os.RemoveAll(above))
				must(t, os.Rename(above+"way", above))
			}
		}}
	},
	"S3": func(t *testing.T) place {
		s := s3test.Start(t)
		dir, way, keys := filepath.Join(s.Dir, s3test.Bucket), newProxy(t, s.Address), t.TempDir()
		small(t, dir)
		stage.Write(t, filepath.Join(keys, "key"), s3test.Key)
		stage.Write(t, filepath.Join(keys, "secret"), s3test.Secret)
		return place{
			yaml: fmt.Sprintf("{s3: {endpoint: %q, region: us-east-1, bucket: %s, key_from_file: %q, secret_from_file: %q}}", fmt.Sprintf("http://127.0.0.1:%d", way.port()), s3test.Bucket, filepath.Join(keys, "key"), filepath.Join(keys, "secret")),
			dir:  dir,
			gone: func(*testing.T) func() { s.Stop(); return s.Restart },
			late: func() func() { way.slow.Store(int64(100 * time.Millisecond)); return func() { way.slow.Store(0) } },
		}
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// small mounts a file system of eight megabytes.
func small(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		need.Lacking(t, "mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// A host must say what its files' place lacks, lose no file, and go on by itself. It must never show the bytes of another file.
func TestAPlaceOfFilesInTroubleIsTold(t *testing.T) {
	for name, make := range places {
		t.Run(name, func(t *testing.T) {
			at := make(t)
			t.Parallel()
			p := newPairOn(t, pgtest.Start(t), nil, 10*time.Second)
			p.files = ", files: " + at.yaml
			for _, h := range p.hosts {
				h.write(p)
			}
			owner, other := p.begin()
			var sent [][]byte
			send := func() { sent = append(sent, p.sendFile(owner)) }
			send()
			in := func(trouble string, spoil func() (mend func()), finding string) {
				t.Helper()
				began := time.Now()
				mend := spoil()
				if p.tryFile(owner, []byte(strings.Repeat(trouble, 50_000))) == nil {
					t.Errorf("%s: a file was accepted", trouble)
				}
				p.find(owner, finding)
				mend()
				send()
				t.Logf("%s: %v", trouble, time.Since(began))
			}
			in("gone", func() func() { return at.gone(t) }, finding.FilesAway)
			if at.late != nil { // that is no trouble
				inTime := at.late()
				send()
				inTime()
			}
			in("full", func() func() {
				ballast := filepath.Join(at.dir, "ballast")
				fill(t, ballast)
				return func() { must(t, os.Remove(ballast)) }
			}, finding.FilesUnwritten)
			p.shows(owner, sent)

			p.flip(at.dir)
			owner.kill() // the other one has no copies
			stage.Await(t, other.name+" owns", other.owns)
			stage.Await(t, "a page to notice the other bytes", func() bool { return p.right(other) == len(sent)-1 })
			p.find(other, finding.FilesDamaged)
			p.flip(at.dir)
			p.shows(other, sent)
		})
	}
}

// sendFile has a file of random bytes sent to the page, as often as it takes.
func (p *pair) sendFile(h *host) (content []byte) {
	p.Helper()
	content = make([]byte, 200_000)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	stage.Await(p, "a file to be sent", func() bool { return p.tryFile(h, content) == nil })
	return content
}

// tryFile has a file sent to the page.
func (p *pair) tryFile(h *host, content []byte) error {
	p.Helper()
	path := filepath.Join(h.dir, "file.bin")
	must(p.T, os.WriteFile(path, content, 0o600))
	return h.command("send", path, "--group", "quay").Run()
}

// find waits until the status of a host has a finding, with a remedy.
func (p *pair) find(h *host, name string) {
	p.Helper()
	stage.Await(p, h.name+" has the finding "+name, func() bool {
		for _, f := range h.findings() {
			if f.Name == name && f.Remedy != "" {
				p.Logf("%s: %s: %s", f.Name, f.Cause, f.Remedy)
				return true
			}
		}
		return false
	})
}

// shows waits until the page of a host shows these files alone, with their bytes.
func (p *pair) shows(h *host, sent [][]byte) {
	p.Helper()
	stage.Await(p, "the page to show each file", func() bool { return p.right(h) == len(sent) })
	for i, f := range p.filesOf(h) {
		if sum := sha256.Sum256(sent[i]); f.SHA256 != hex.EncodeToString(sum[:]) {
			p.Errorf("file %d is another one", i)
		}
	}
}

// filesOf are those on the page of a host, in their order.
func (p *pair) filesOf(h *host) (all []*history.File) {
	_, body := get("http://"+h.page+"/api/chats/quay/messages?limit=50", "")
	var page struct{ Messages []history.Message }
	_ = json.Unmarshal([]byte(body), &page) // a host that is slow now is asked again
	for _, m := range page.Messages {
		if m.File != nil {
			all = append(all, m.File)
		}
	}
	return all
}

// right counts the files that the page of a host gives with their own bytes. No other bytes may come.
func (p *pair) right(h *host) (n int) {
	p.Helper()
	for _, f := range p.filesOf(h) {
		code, body := get("http://"+h.page+f.URL, "")
		sum := sha256.Sum256([]byte(body))
		switch {
		case code == http.StatusOK && hex.EncodeToString(sum[:]) == f.SHA256:
			n++
		case code == http.StatusOK:
			p.Errorf("the page gives other bytes of %s", f.Name)
		}
	}
	return n
}

// flip changes a byte of one large file in a directory; the second time it changes it back.
func (p *pair) flip(dir string) {
	p.Helper()
	flipped := false
	must(p.T, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || flipped || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) != 200_000 {
			return err
		}
		flipped = true
		content[1000] ^= 1
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(content[1000:1001], 1000)
		return errors.Join(err, f.Close())
	}))
	if !flipped {
		p.Fatal("the place has no such file")
	}
}
