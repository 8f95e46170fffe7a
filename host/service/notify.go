package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// Notifier reports the host's states to the service manager that started it, as
// sd_notify(3) describes. The zero Notifier has no manager and reports nothing.
type Notifier struct {
	Socket string        // a path, or "@" and an abstract name; empty: no manager
	Within time.Duration // the manager restarts a host that it has not heard of for so long; 0: never
}

// NotifierOf reads what the manager left in the environment of process pid:
// NOTIFY_SOCKET, and WATCHDOG_USEC if WATCHDOG_PID does not name another process.
func NotifierOf(getenv func(string) string, pid int) Notifier {
	n := Notifier{Socket: getenv("NOTIFY_SOCKET")}
	micros, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	other := getenv("WATCHDOG_PID")
	if err == nil && micros > 0 && micros < int64(1<<62)/int64(time.Microsecond) && (other == "" || other == strconv.Itoa(pid)) {
		n.Within = time.Duration(micros) * time.Microsecond
	}
	return n
}

// Tell sends one state, such as RELOADING=1.
func (n Notifier) Tell(state string) error {
	if n.Socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", n.Socket)
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}

// askEvery is how often Run asks whether the host has started.
const askEvery = 100 * time.Millisecond

// Run sends READY=1 as soon as alive returns no error, then WATCHDOG=1 each time that
// alive returns none, and STOPPING=1 when ctx is done. alive gets half of Within.
func (n Notifier) Run(ctx context.Context, log *slog.Logger, alive func(context.Context) error) {
	if n.Socket == "" {
		return
	}
	tell := func(state string) {
		if err := n.Tell(state); err != nil {
			log.Warn("the service manager was not notified", "state", state, "error", err)
		}
	}
	defer tell("STOPPING=1")
	state, every := "READY=1", askEvery
	for {
		answer := n.ask(ctx, alive)
		if ctx.Err() != nil {
			return
		}
		if answer == nil {
			tell(state)
			state, every = "WATCHDOG=1", n.Within/2
			if every == 0 {
				<-ctx.Done()
				return
			}
		} else if state == "WATCHDOG=1" {
			log.Error("the host does not answer; the service manager may restart it", "error", answer)
		}
		if !wake.Sleep(ctx, every) {
			return
		}
	}
}

func (n Notifier) ask(ctx context.Context, alive func(context.Context) error) error {
	timeout := n.Within / 2
	timeout = cmp.Or(timeout, time.Minute)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return alive(ctx)
}
