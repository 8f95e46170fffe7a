// Command agentrunner is the program inside an assistant's container: the
// tools that an agent CLI calls (agentrunner mcp), the driver of the assistant
// (agentrunner run), and the same sending by shell (agentrunner send). It
// links no channel and no database; all of it is in the packages below.
package main

import (
	"os"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
)

// version is set by the linker: see the Makefile.
var version string

func main() {
	os.Exit(cli.Main(cli.Version(version), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
