package bridge_test

import (
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	confine.Child() // ffmpeg runs as a process of this binary
	fstest.Memory()
	os.Exit(m.Run())
}
