package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestAMountThatTheHostMayNotReadWasServed: the assistant answered without its files. The running host and the
// configuration's check say so, also of a directory above it that is closed, and the group comes up by itself.
func TestAMountThatTheHostMayNotReadWasServed(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	share := filepath.Join(dir, "closed", "share")
	if err := os.MkdirAll(share, 0o700); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, fmt.Sprintf(`
channels: {web: {listen: "127.0.0.1:0"}}
mounts: {allow: [{path: %s}]}
groups:
- {folder: family, chat: "web:family", mounts: [{name: share, host: %s}]}
`, dir, share), false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	d := h.parts[slices.IndexFunc(h.parts, func(p Part) bool { _, ok := p.(*directories); return ok })].(*directories)
	for _, closed := range []string{share, filepath.Dir(share)} {
		remedy := "chmod u+rwX " + closed + ","
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
		d.checkMounts(t.Context())
		f, down := h.down.Of("group family")
		if !down || f.Name != string(cause.Mount) || !strings.Contains(f.Cause, "cannot be read: permission denied") || !strings.HasPrefix(f.Remedy, remedy) {
			t.Errorf("%s is closed while the host runs: %v, %+v", closed, down, f)
		}
		cfg, problems, err := h.opts.File.Load(nil)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if p := cfg.WhyDown("group family"); p == nil || !strings.Contains(p.Message, "permission denied") || !strings.HasPrefix(p.Hint, remedy) {
			t.Errorf("%s is closed at the start: %+v", closed, p)
		}
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		d.checkMounts(t.Context())
		if f, down := h.down.Of("group family"); down {
			t.Errorf("after its remedy: %+v", f)
		}
	}
}
