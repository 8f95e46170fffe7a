package command

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestMain lets the tests run longshore as a process of its own.
func TestMain(m *testing.M) {
	// Hosts in processes of their own wait more than they work. A -parallel of the command line counts more.
	flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	stage.Main(m, stage.Program{Main: Main, Run: Run})
}
