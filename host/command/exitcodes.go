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
  3  a request or a file was refused: the reason has a code, see docs/operations.md;
     or the command itself, such as setup if longshore.yaml exists, or service
     without systemd
  4  a delivery failed, or what the command checked is not well: a fault that doctor
     or upgrade --check found, what stops an answer (why), a damaged backup (backup
     verify), no running service (service status), a target that did not take
     "notify test", a key or model that its service refused (setup)
  5  the file is kept and was not sent yet
  7  serve: this host of a cluster owns no longer; it has lost the lease, or given it
     to another host
  130  ctrl-c or SIGTERM ended the command before it was done, such as at a question
     of setup; a host or --watch that you end this way ends with 0

With --json the answer is on stdout in every case but 1, 2 and 130.
agentrunner also ends with 6: longshore agentrunner help`,
	}
}
