//go:build e2e

package engines

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// search says where in and around the group's container the key is.
func (h *boxes) search(key string) (found []string) {
	h.Helper()
	ctx := h.Context()
	list, err := h.api.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group=g0")})
	if err != nil || len(list.Items) != 1 {
		h.Fatalf("%d containers, %v", len(list.Items), err)
	}
	id := list.Items[0].ID
	inspected, err := h.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		h.Fatal(err)
	}
	forms := stage.FormsOf(key)
	if stage.Holds(bytes.NewReader(inspected.Raw), forms) {
		found = append(found, "inspect")
	}
	export, err := h.api.ContainerExport(ctx, id, client.ContainerExportOptions{})
	if err != nil {
		h.Fatal(err)
	}
	defer export.Close()
	if stage.Holds(export, forms) {
		found = append(found, "export")
	}
	processes := beside(h.TB, inspected.Container.State.Pid)
	if len(processes) < 2 { // its init and agentrunner
		h.Fatalf("the container has the processes %v", processes)
	}
	for _, pid := range processes {
		found = append(found, stage.SearchProcess(h.TB, pid, forms)...)
	}
	return append(found, stage.SearchFiles(h.TB, filepath.Join(filepath.Dir(h.file), "state"), forms)...)
}

// beside are the processes in a process's cgroup.
func beside(t testing.TB, pid int) (all []int) {
	t.Helper()
	want, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if got, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n)); err == nil && bytes.Equal(got, want) {
			all = append(all, n)
		}
	}
	return all
}

// TestAKeyBehindAPageThatCannotBeReadIsFound, and one in either order of UTF-16.
func TestAKeyBehindAPageThatCannotBeReadIsFound(t *testing.T) {
	const key = "sk-canary-0123456789"
	forms := stage.FormsOf(key)
	page := os.Getpagesize()
	memory := append(make([]byte, 3*page), key...)
	if !stage.Holds(stage.NewPages(torn{bytes.NewReader(memory), int64(page)}, int64(len(memory))), forms) {
		t.Error("the key behind the page is not found")
	}
	for name, wide := range map[string]string{"little": "%c\x00", "big": "\x00%c"} {
		var text strings.Builder
		for _, r := range key {
			fmt.Fprintf(&text, wide, r)
		}
		if !stage.Holds(strings.NewReader(text.String()), forms) {
			t.Error("not found in UTF-16, order", name)
		}
	}
}

// torn is memory whose second page cannot be read.
type torn struct {
	io.ReaderAt
	page int64
}

func (m torn) ReadAt(b []byte, at int64) (int, error) {
	if at >= m.page && at < 2*m.page {
		return 0, os.ErrInvalid
	}
	if at < m.page {
		b = b[:min(int64(len(b)), m.page-at)]
	}
	return m.ReaderAt.ReadAt(b, at)
}
