package command

import "github.com/spf13/cobra"

// newExitCodes is a help topic: "longshore help exit-codes".
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "what a script can tell from longshore's exit codes",
		Long: `Every command ends with one of these:

  0  it worked
  1  something went wrong; the text on stderr says what
  2  the command line is wrong
  3  a request or a file was refused: the reason has a code, see docs/operations.md
  4  a delivery failed, or doctor found a fault
  5  the file is kept and was not sent yet

With --json the answer is on stdout in every case but 1 and 2.
agentrunner also ends with 6 and 130: longshore agentrunner help`,
	}
}
