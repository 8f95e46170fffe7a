package backup

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/serve"
)

// TestAHostStartedOnHalfARestore: a kill had left a restore without its last directory, and the
// host went on without it.
func TestAHostStartedOnHalfARestore(t *testing.T) {
	for name, layout := range map[string]string{"longshore": "", "v1": "layout: v1\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "longshore.yaml")
			stage.Write(t, file, layout+"state: ./state\ngroups: [{name: G0, folder: g0, chat: \"mem:g0\"}]\n")
			s := siteIn(t, dir, 1)
			made := backUp(s, t.TempDir())
			open := func() error {
				h, err := serve.New(t.Context(), s.Cfg, serve.Options{Log: slog.New(slog.DiscardHandler), Channels: stage.Substitutes(s.Cfg, memory.New(memory.Options{Online: true}))})
				if err != nil {
					return err
				}
				return h.Close()
			}
			l := s.Cfg.Layout()
			all, left := l.Private(), l.Restoring().Private()
			last := len(all) - 1
			stage.Must(t, errors.Join(os.MkdirAll(filepath.Dir(left[last]), 0o700), os.Rename(all[last], left[last])))
			if err := open(); err == nil || !strings.Contains(err.Error(), "run longshore restore again") {
				t.Errorf("half restored: %v", err)
			}
			if _, err := os.Lstat(all[last]); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was made: %v", all[last], err)
			}
			for _, path := range all[:last] { // as the error says
				stage.Must(t, os.Rename(path, path+".away"))
			}
			if out, code := stage.Command(t, "-c", file, "restore", made); code != stage.ExitOK {
				t.Fatalf("exit code %d: %s", code, out)
			}
			if err := open(); err != nil {
				t.Errorf("restored: %v", err)
			}
		})
	}
}
