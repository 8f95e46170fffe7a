package bridge_test

import (
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/internal/confine"
)

func TestMain(m *testing.M) {
	confine.Child() // ffmpeg runs as a process of this binary
	os.Exit(m.Run())
}
