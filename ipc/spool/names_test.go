package spool

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

func FuzzNames(f *testing.F) {
	f.Add("report.pdf")
	f.Add("../../etc/passwd")
	f.Add("\x1b[2J\u202egnp.exe.json")
	f.Add(strings.Repeat("ä", 300) + ".tar.gz")
	f.Fuzz(func(t *testing.T, name string) {
		safe := media.SafeName(name)
		if safe == "" || len(safe) > 200 || safe[0] == '.' || strings.ContainsAny(safe, "/\\\x00\x1b\n\u202e") {
			t.Errorf("SafeName(%q) = %q", name, safe)
		}
		if stem := quarantineStem("fam", name); !ipc.ValidID(stem) || strings.HasSuffix(stem, ".reason") {
			t.Errorf("quarantineStem(%q) = %q", name, stem)
		}
	})
}
