package driver_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

const binDir = "AGENTRUNNER_TEST_BIN"

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "driver")
	if err == nil {
		err = os.Setenv(binDir, dir)
	}
	if err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(dir)
	if err := goleak.Find(); err != nil && status == 0 {
		_, _ = os.Stderr.WriteString(err.Error())
		status = 1
	}
	os.Exit(status)
}
