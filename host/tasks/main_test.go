package tasks_test

import (
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	os.Exit(m.Run())
}
