//go:build e2e

package main

import (
	"debug/elf"
	"os"
	"testing"
)

func TestProgramIsSmallAndStatic(t *testing.T) {
	path := binary(t)
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(stat.Size())/1e6)
	if stat.Size() > 12_000_000 {
		t.Errorf("%d bytes, more than 12 MB", stat.Size())
	}
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it needs a dynamic loader")
		}
	}
}
