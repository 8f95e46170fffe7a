package serve

import (
	"testing"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

func TestTemporaryFilesLeaveTheDiskItsRoom(t *testing.T) {
	dir := t.TempDir()
	volume, err := safefs.VolumeOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	free := int64(volume.Free)
	s := &disk{dir: dir, keep: fixedFree(free / 2)}
	first, err := s.Reserve(free / 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reserve(free / 3); err == nil {
		t.Error("two thirds were promised, and half is to stay")
	}
	first()
	first() // a second time gives nothing back
	second, err := s.Reserve(free / 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reserve(free / 3); err == nil {
		t.Error("more was given back than was taken")
	}
	second()
	if err := s.Room(); err != nil {
		t.Errorf("a message has no room: %v", err)
	}
}
