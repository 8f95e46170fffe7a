package command

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"
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
	forms := formsOf(key)
	if holds(bytes.NewReader(inspected.Raw), forms) {
		found = append(found, "inspect")
	}
	export, err := h.api.ContainerExport(ctx, id, client.ContainerExportOptions{})
	if err != nil {
		h.Fatal(err)
	}
	defer export.Close()
	if holds(export, forms) {
		found = append(found, "export")
	}
	processes := beside(h.TB, inspected.Container.State.Pid)
	if len(processes) < 2 { // its init and agentrunner
		h.Fatalf("the container has the processes %v", processes)
	}
	for _, pid := range processes {
		found = append(found, searchProcess(h.TB, pid, forms)...)
	}
	return append(found, searchFiles(h.TB, filepath.Join(filepath.Dir(h.file), "state"), forms)...)
}

// formsOf are the ways in which a key may be written. Base64 has three, by where the
// key begins.
func formsOf(key string) (forms [][]byte) {
	wide := make([]byte, 0, 2*len(key))
	for _, b := range []byte(key) {
		wide = append(wide, b, 0)
	}
	wide = wide[:len(wide)-1] // so it is in both orders of UTF-16
	forms = [][]byte{[]byte(key), wide, []byte(hex.EncodeToString([]byte(key))), []byte(strings.ToUpper(hex.EncodeToString([]byte(key))))}
	for skip := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			part := key[skip:]
			forms = append(forms, []byte(e.EncodeToString([]byte(part[:len(part)/3*3]))))
		}
	}
	return forms
}

// holds reports whether one of the forms is in what r has, also over the edge of a read.
func holds(r io.Reader, forms [][]byte) bool {
	const overlap = 256
	in := bufio.NewReaderSize(r, 1<<20)
	buf := make([]byte, 0, 1<<20+overlap)
	for {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for _, form := range forms {
			if bytes.Contains(buf, form) {
				return true
			}
		}
		if err != nil {
			return false
		}
		keep := min(len(buf), overlap)
		copy(buf, buf[len(buf)-keep:])
		buf = buf[:keep]
	}
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

var region = regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+ *(.*)$`)

// searchProcess reads what a process has in memory, and how it was started.
func searchProcess(t testing.TB, pid int, forms [][]byte) (found []string) {
	t.Helper()
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Fatal(err)
		}
		if holds(bytes.NewReader(data), forms) {
			found = append(found, name)
		}
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	read := 0
	for _, line := range strings.Split(string(maps), "\n") {
		part := region.FindStringSubmatch(line)
		if part == nil || strings.HasPrefix(part[3], "[v") { // vdso, vvar and vsyscall are the kernel's
			continue
		}
		from, _ := strconv.ParseInt(part[1], 16, 64)
		to, _ := strconv.ParseInt(part[2], 16, 64)
		read++
		if holds(&pages{mem, from, to}, forms) {
			found = append(found, fmt.Sprintf("memory of %d, %s", pid, part[3]))
		}
	}
	if read < 3 {
		t.Fatalf("%d regions of process %d were read of\n%s", read, pid, maps)
	}
	return found
}

// pages reads memory, and zeros where a page cannot be read: what lies behind it counts too.
type pages struct {
	mem    io.ReaderAt
	at, to int64
}

func (p *pages) Read(b []byte) (int, error) {
	if p.at >= p.to {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.to-p.at)]
	n, err := p.mem.ReadAt(b, p.at)
	if n == 0 && err != nil {
		n = min(len(b), os.Getpagesize()-int(p.at)%os.Getpagesize())
		clear(b[:n])
	}
	p.at += int64(n)
	return n, nil
}

// TestAKeyBehindAPageThatCannotBeReadIsFound, and one in either order of UTF-16.
func TestAKeyBehindAPageThatCannotBeReadIsFound(t *testing.T) {
	const key = "sk-canary-0123456789"
	forms := formsOf(key)
	page := os.Getpagesize()
	memory := append(make([]byte, 3*page), key...)
	if !holds(&pages{torn{bytes.NewReader(memory), int64(page)}, 0, int64(len(memory))}, forms) {
		t.Error("the key behind the page is not found")
	}
	for name, wide := range map[string]string{"little": "%c\x00", "big": "\x00%c"} {
		var text strings.Builder
		for _, r := range key {
			fmt.Fprintf(&text, wide, r)
		}
		if !holds(strings.NewReader(text.String()), forms) {
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

// searchFiles reads the files of the installation, which the container shares in part.
func searchFiles(t testing.TB, dir string, forms [][]byte) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if holds(f, forms) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) { // the host goes on working there
		t.Fatal(err)
	}
	return found
}
