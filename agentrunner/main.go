// Command agentrunner is the program inside an assistant's container. It serves the
// tools to an agent CLI (agentrunner mcp), drives the assistant (agentrunner run),
// and sends files from a shell (agentrunner send). It links no channel and no
// database. All code is in the packages below.
package main

import (
	"os"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
)

// version is set by the linker; see the Makefile.
var version string

func main() {
	os.Exit(cli.Main(cli.Version(version), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
