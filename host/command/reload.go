package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/service"
	"github.com/longshore-bridge/longshore/media"
)

func newReload(e *env) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "have the running host apply longshore.yaml as it is now",
		Long: `reload has the running host read longshore.yaml again, and prints what changed. No
connection is dropped and no turn is ended, but those of groups that are gone.
The file is applied whole or not at all: if anything in it is wrong, or cannot
change while the host runs, reload prints all of that and the host runs on as
before. SIGHUP to the host does the same and writes to its log. A file without
groups, or with less than half of them, is applied only with --remove.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := e.reload(cmd.Context(), remove)
			if errors.Is(err, operator.ErrNoHost) {
				return terminal.Hinted(err, "longshore serve starts one; if state: was changed in the file, restart the one that runs")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "end the groups that the file no longer has, even all of them")
	return cmd
}

// reload makes the running host apply the configuration file, and prints the changes. If no host runs,
// the error is operator.ErrNoHost.
func (e *env) reload(ctx context.Context, remove bool) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	client, err := e.hostOf(ctx, cfg.Layout())
	if err != nil {
		return err
	}
	if client == nil {
		return ofControl(operator.ErrNoHost)
	}
	r, err := client.Reload(ctx, remove)
	if err != nil {
		return ofControl(err)
	}
	if err := e.Answer(r, func() error { e.printReloaded(r); return nil }); err != nil {
		return err
	}
	if n := len(r.Problems); n > 0 {
		return terminal.Hinted(fmt.Errorf("%s has %s; the host runs on with the one applied at %s", r.File, media.Count(n, "problem"), terminal.ClockText(r.Applied)),
			"mend the file and reload it, or restart the host if that is what a problem asks for")
	}
	return nil
}

func (e *env) printReloaded(r operator.Reloaded) {
	for _, p := range r.Problems {
		for line := range strings.Lines(p) {
			fmt.Fprintln(e.Stderr, media.Printable(strings.TrimRight(line, "\n")))
		}
	}
	for _, line := range r.Changes {
		e.Say("%s", line)
	}
	switch {
	case len(r.Problems) > 0:
	case len(r.Changes) == 0:
		e.Say("%s applied; nothing in it has changed", r.File)
	default:
		e.Say("%s applied", r.File)
	}
}

// reloader takes up a changed configuration: *serve.Host, *standby.Standby.
type reloader interface {
	Reload(ctx context.Context, remove bool) (operator.Reloaded, error)
}

// hangups are the SIGHUPs of this process, which none ends from here on, until the caller calls stop.
func hangups() (heard <-chan os.Signal, stop func()) {
	all := make(chan os.Signal, 1)
	signal.Notify(all, syscall.SIGHUP)
	return all, func() { signal.Stop(all) }
}

// reloadOnHangup reloads h on each SIGHUP that is heard, until the caller calls stop, which waits for the
// goroutine. h logs the result; n reports to the service manager when a reload begins and ends.
func reloadOnHangup(ctx context.Context, heard <-chan os.Signal, h reloader, n service.Notifier) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-heard:
			}
			if ctx.Err() == nil { // a host that ends takes up nothing
				_ = n.Tell("RELOADING=1")
				_, _ = h.Reload(ctx, false)
				_ = n.Tell("READY=1")
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
