//go:build e2e

package stage

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
)

// AskModel is an assistant that asks Anthropic's API by bash alone, and answers what
// that answers.
const AskModel = `cat >/dev/null; url=${ANTHROPIC_BASE_URL#http://}; address=${url%%/*}; path=/${url#*/}; [ "$path" = "/$url" ] && path=
exec 3<>/dev/tcp/${address/://}
body='{"model":"m","max_tokens":9,"stream":false,"messages":[{"role":"user","content":"hello"}],"tools":[{"name":"t","input_schema":{"type":"object"}}]}'
printf 'POST %s/v1/messages HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$path" "$address" "$ANTHROPIC_API_KEY" ${#body} "$body" >&3
cat <&3`

// FormsOf are the ways in which a key may be written. Base64 has three, by where the
// key begins.
func FormsOf(key string) (forms [][]byte) {
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

// Holds reports whether one of the forms is in what r has, also over the edge of a read.
func Holds(r io.Reader, forms [][]byte) bool {
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

var region = regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+ *(.*)$`)

// SearchProcess reads what a process has in memory, and how it was started.
func SearchProcess(t testing.TB, pid int, forms [][]byte) (found []string) {
	t.Helper()
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Fatal(err)
		}
		if Holds(bytes.NewReader(data), forms) {
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
		if Holds(&Pages{mem, from, to}, forms) {
			found = append(found, fmt.Sprintf("memory of %d, %s", pid, part[3]))
		}
	}
	if read < 3 {
		t.Fatalf("%d regions of process %d were read of\n%s", read, pid, maps)
	}
	return found
}

// Pages reads memory, and zeros where a page cannot be read: what lies behind it counts too.
type Pages struct {
	mem    io.ReaderAt
	at, to int64
}

// NewPages reads memory from its beginning to a place.
func NewPages(mem io.ReaderAt, to int64) *Pages { return &Pages{mem: mem, to: to} }

func (p *Pages) Read(b []byte) (int, error) {
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

// SearchFiles reads the files of the installation, which the container shares in part.
func SearchFiles(t testing.TB, dir string, forms [][]byte) (found []string) {
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
		if Holds(f, forms) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) { // the host goes on working there
		t.Fatal(err)
	}
	return found
}

// Below are the processes that a process has started, and those that these have.
func Below(t *testing.T, pid int) (all []int) {
	t.Helper()
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range children {
		text, _ := os.ReadFile(name) // a thread may have ended
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), Below(t, child)...)
			}
		}
	}
	return all
}
