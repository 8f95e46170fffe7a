//go:build e2e

package kill

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/ipc"
)

// pageSite is a site on the page, with what its assistants have asked for.
type pageSite struct {
	*stage.Site
	asked map[string][]string // by folder: the hash of each part, in order
	ids   map[string][]string // of the requests
}

func newKillSite(tb testing.TB, dir string) *pageSite {
	tb.Helper()
	return &pageSite{Site: stage.NewPageSite(tb, dir, 3), asked: map[string][]string{}, ids: map[string][]string{}}
}

// ask has each assistant ask n times for a text, for two small files and, at the
// first time, for one that is not small.
func (b *pageSite) ask(n int) {
	b.Helper()
	for i := range n {
		for _, folder := range b.Folders {
			text := rand.Text()
			b.enqueue(folder, ipc.Request{Type: ipc.TypeMessage, Text: text}, []byte(text))
			contents := [][]byte{[]byte(strings.Repeat(rand.Text(), 40)), []byte(strings.Repeat(rand.Text(), 300))}
			if i == 0 {
				contents = append(contents, []byte(strings.Repeat(rand.Text(), 20_000)))
			}
			r := ipc.Request{Type: ipc.TypeFile}
			for _, content := range contents {
				name := rand.Text() + ".bin"
				if err := os.WriteFile(filepath.Join(b.Cfg.Layout().Workspace(folder), name), content, 0o644); err != nil {
					b.Fatal(err)
				}
				r.Files = append(r.Files, ipc.FileRef{Path: "/workspace/group/" + name})
			}
			b.enqueue(folder, r, contents...)
		}
	}
}

// askLong asks for so much text that the databases copy their logs.
func (b *pageSite) askLong() {
	b.Helper()
	for range 320 {
		text := strings.Repeat(rand.Text(), 600)
		b.enqueue(b.Folders[0], ipc.Request{Type: ipc.TypeMessage, Text: text}, []byte(text))
	}
}

func (b *pageSite) enqueue(folder string, r ipc.Request, parts ...[]byte) {
	b.Helper()
	id, err := b.Client(folder).Enqueue(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	b.ids[folder] = append(b.ids[folder], id)
	for _, p := range parts {
		b.asked[folder] = append(b.asked[folder], stage.Digest(p))
	}
}

// settled runs a host until the last request of each group has its result, has the
// page tell what it shows, and ends the host. It returns what is wrong.
func (b *pageSite) settled() (faults []string) {
	b.Helper()
	host, url := b.ServeOnPage()
	for _, folder := range b.Folders {
		for _, id := range last(b.ids[folder], 300) {
			if r := b.ended(folder, id); !arrived(r) {
				faults = append(faults, fmt.Sprintf("%s/%s has the result %+v", folder, id, r))
			}
		}
		faults = append(faults, unlike(folder, b.asked[folder], b.shown(url, folder))...)
	}
	_ = host.Process.Signal(syscall.SIGTERM)
	if err := host.Wait(); err != nil {
		faults = append(faults, fmt.Sprintf("the host ended with %v", err))
	}
	return faults
}

// ended waits for a request's end. A power loss may leave half a result, until the
// host writes it again.
func (b *pageSite) ended(folder, id string) ipc.Result {
	b.Helper()
	client := b.Client(folder)
	for deadline := time.Now().Add(stage.Patience); ; <-time.After(5 * time.Millisecond) {
		r, err := client.Status(id)
		if err == nil && r.Status.Final() {
			return r
		}
		if time.Now().After(deadline) {
			b.Fatalf("request %s of %s has no end: %+v, %v", id, folder, r, err)
		}
	}
}

// arrived says whether a result is of a request that the page has, and perhaps has
// handed to a member.
func arrived(r ipc.Result) bool {
	return r.Status == ipc.Sent || r.Status == ipc.Delivered || r.Status == ipc.Read
}

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// unlike names the differences between what was asked for and what a member sees.
func unlike(chat string, asked, shown []string) (all []string) {
	times := map[string]int{}
	for _, s := range shown {
		times[s]++
	}
	for i, a := range asked {
		if times[a] != 1 {
			all = append(all, fmt.Sprintf("%s: part %d of %d is shown %d times", chat, i+1, len(asked), times[a]))
		}
		delete(times, a)
	}
	if len(times) > 0 {
		all = append(all, fmt.Sprintf("%s shows %d messages that nobody asked for", chat, len(times)))
	}
	if len(all) == 0 && !slices.Equal(asked, shown) {
		all = append(all, chat+" is in another order")
	}
	return all
}

// shown fetches a chat's history as a page does, with its files, and returns the
// hash of each, the oldest first.
func (b *pageSite) shown(url, folder string) (all []string) {
	b.Helper()
	for before := ""; ; {
		var page struct {
			Messages []history.Message
			More     bool
		}
		if err := json.Unmarshal(b.get(url+"/api/chats/"+folder+"/messages?limit=200"+before), &page); err != nil {
			b.Fatal(err)
		}
		var these []string
		for _, m := range page.Messages {
			content := []byte(m.Text)
			if m.File != nil {
				content = b.get(url + m.File.URL)
			}
			these = append(these, stage.Digest(content))
		}
		all = append(these, all...)
		if !page.More {
			return all
		}
		before = "&before=" + page.Messages[0].ID
	}
}

func (b *pageSite) get(url string) []byte {
	b.Helper()
	r, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return body
}

// done says whether every group's last request has its result.
func (b *pageSite) done() bool {
	for _, folder := range b.Folders {
		r, err := b.Client(folder).Status(b.ids[folder][len(b.ids[folder])-1])
		if err != nil || !r.Status.Final() {
			return false
		}
	}
	return true
}

// pageMoments are those at which a host is killed: each kind of operation on each of
// its stores' files, before and after it. Writes of a database itself are those of a
// checkpoint.
func pageMoments() (all []stage.Moment) {
	for _, at := range []struct {
		kind, path string
		nth        []int
	}{
		{"write", "longshore.db-wal", []int{1, 9, 25, 41}},
		{"sync", "longshore.db-wal", []int{1, 2, 3, 4}},
		{"create", "ipc/*/results/*", []int{1, 7}},
		{"rename", "ipc/*/results/*", []int{1, 7}},
		{"unlink", "ipc/*/messages/*", []int{1, 7}},
		{"link", "blobs/*", []int{1}},
		{"unlink", "blobs/*", []int{1}},
		{"write", "longshore.db", []int{checkpoint}},
	} {
		for _, nth := range at.nth {
			for _, after := range []bool{false, true} {
				all = append(all, stage.Moment{Kind: at.kind, Path: at.path, Nth: nth, After: after})
			}
		}
	}
	return all
}

// checkpoint is the number of a write that no longer makes the database.
const checkpoint = 50

func TestKilledAtEachWriteOfItsStoresNothingIsLostAndNothingShowsTwiceOnThePage(t *testing.T) {
	for _, m := range pageMoments() {
		t.Run(momentString(m), func(t *testing.T) {
			t.Parallel()
			b := newKillSite(t, t.TempDir())
			b.ask(4)
			if m.Nth == checkpoint {
				b.askLong()
			}
			if !b.Traced(stage.Tracing{Kill: &m}, b.done) {
				t.Error("the host never got there")
			}
			b.ask(1)
			for _, f := range b.settled() {
				t.Error(f)
			}
		})
	}
}

// TestKilledAtRandomUnderADrainNothingIsLostAndNothingShowsTwiceOnThePage kills one
// host after the other while there is more to do than it lives for.
func TestKilledAtRandomUnderADrainNothingIsLostAndNothingShowsTwiceOnThePage(t *testing.T) {
	kills, places := 30, 3
	if n, err := strconv.Atoi(os.Getenv(stage.KillsEnv)); err == nil {
		kills, places = n, max(1, n/50)
	}
	for place := range places {
		t.Run(fmt.Sprint(place), func(t *testing.T) {
			t.Parallel()
			b := newKillSite(t, t.TempDir())
			b.ask(30)
			idle, lives := 0, kills/places
			if place < kills%places {
				lives++
			}
			for range lives {
				b.ask(10)
				host := b.ServeCommand()
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Duration(mrand.IntN(250_000)) * time.Microsecond)
				if b.done() {
					idle++
				}
				b.Kill(host)
			}
			faults := b.settled()
			for _, f := range faults {
				t.Error(f)
			}
			parts := 0
			for _, asked := range b.asked {
				parts += len(asked)
			}
			t.Logf("%d kills, %d of them with nothing left to do; %d parts, %d faults", lives, idle, parts, len(faults))
		})
	}
}

func TestTheComparisonOfThePageNoticesWhatIsLostTwiceOrOutOfOrder(t *testing.T) {
	asked := []string{"a", "b", "c"}
	for _, shown := range []string{"a c", "a b b c", "a c b", "a b c d"} {
		if len(unlike("chat", asked, strings.Fields(shown))) == 0 {
			t.Errorf("%s passes for %v", shown, asked)
		}
	}
	if d := unlike("chat", asked, asked); len(d) > 0 {
		t.Error(d)
	}
}
