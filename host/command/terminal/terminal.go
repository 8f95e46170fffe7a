// Package terminal is how a command reads and prints: lines and tables for people, JSON for
// programs, questions, hints and exit codes. All foreign text is made printable.
package terminal

import "io"

// Terminal is where a command reads and prints.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Watched        io.Writer // stdout while --watch prints into memory; else nil
	JSON           bool      // print for programs

	// Commands in what is printed read the same configuration: see Command.
	Config string   // path of longshore.yaml
	Named  bool     // by -c; if false, the next command finds the same file by itself
	Verbs  []string // the names of the commands
}
