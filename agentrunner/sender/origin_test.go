package sender_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// TestALinkHidWhereAFileComesFrom: the host's screen saw the name of the link, or that of the
// file, and never both.
func TestALinkHidWhereAFileComesFrom(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	s := newSender(t, h, nil)
	temp, inside := h.File("tmp/.env", "A=b"), h.File("group/dotfiles/work", "words")
	link := func(name, target string) string {
		path := filepath.Join(h.Root, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link("group/.ssh", "dotfiles")
	elsewhere := link("group/photo.jpg", temp)
	through := filepath.Join(h.Root, "group/.ssh/work")
	for path, want := range map[string]string{
		temp: temp, elsewhere: elsewhere + " -> " + temp, through: through, inside: "", "/workspace/group/.ssh/work": "/workspace/group/.ssh/work",
	} {
		if _, err := s.SendFiles(t.Context(), []sender.File{{Path: path}}, sender.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := h.Next().Files[0].From; got != want {
			t.Errorf("%s comes from %q, want %q", path, got, want)
		}
	}
}
