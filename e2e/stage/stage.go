// Package stage is what the stories of the whole program share: installations, hosts
// that run in this process or in one of their own, platforms on the loopback, and
// members who write and read. Only tests import it.
//
// A file with the build tag e2e holds what only the second tier of tests uses.
package stage

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/confine"
)

// Child is a further program that a test binary can be: the one to which the variable
// of the environment belongs. Main gets the variable's value and returns the exit code.
type Child struct {
	Env  string
	Main func(spec string) int
}

// Program is longshore. It is handed over, for the tests of host/command are in the
// program's own package and use this one.
type Program struct {
	Main func(version string, platforms []channel.Platform, args []string) (exitCode int)
	Run  func(ctx context.Context, version string, platforms []channel.Platform, args []string, stdin io.Reader, stdout, stderr io.Writer) (exitCode int)
}

var program Program //nolint:gochecknoglobals // as long-lived as the test process

// Main runs the tests of a package, unless this process is one that a test started:
// the longshore program, with its platforms where they are or on the loopback, or one
// of the children.
//
//	func TestMain(m *testing.M) {
//		stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run})
//	}
func Main(m *testing.M, p Program, children ...Child) {
	confine.Child()
	ifTracer()
	for _, c := range children {
		if spec := os.Getenv(c.Env); spec != "" {
			os.Exit(c.Main(spec))
		}
	}
	Become(p)
	inMemory()
	os.Exit(Run(m))
}

// Become makes this process the longshore program, until its end, if a test asked for
// that. Otherwise the tests of this process run the program that it gets.
func Become(p Program) {
	program = p
	if len(os.Args) > 1 && os.Args[1] == "agentrunner" { // the assistant of a host under test
		os.Exit(program.Main("", AllPlatforms(), os.Args[1:]))
	}
	wa, sl, dc := os.Getenv(WhatsAppEnv), os.Getenv(SlackEnv), os.Getenv(DiscordEnv)
	if os.Getenv(ServeEnv)+wa+sl+dc != "" {
		os.Exit(program.Main("", platformsAt(wa, sl, dc), os.Args[1:]))
	}
}
