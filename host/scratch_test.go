package main

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/operator"
)

func TestTemporaryFilesLeaveTheDiskItsRoom(t *testing.T) {
	dir := t.TempDir()
	free := int64(operator.DiskOf(dir).Free)
	s := &scratch{dir: dir, keep: free / 2}
	first, err := s.reserve(free / 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.reserve(free / 3); err == nil {
		t.Error("two thirds were promised, and half is to stay")
	}
	first()
	first() // a second time gives nothing back
	second, err := s.reserve(free / 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.reserve(free / 3); err == nil {
		t.Error("more was given back than was taken")
	}
	second()
}
