// Command longshore gives every chat group its own assistant and carries the
// files that the assistant makes to the group's chat. Run "longshore help" for
// the commands, "longshore demo" to see it work.
package main

import (
	"os"

	"github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/internal/confine"
)

// version is set by the linker: see the Makefile.
var version string

func main() {
	confine.Child() // this process may be there to become a tool without rights
	os.Exit(command.Main(version, platforms(), os.Args[1:]))
}
