// Package guard runs a host as a child process and kills it when its time is over. A process that is
// frozen cannot end itself; its guard does, before another host owns.
package guard

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The pauses before a child that has ended is started again.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 15 * time.Second
)

// tick is how long a guard waits at most before it looks at Now: timers stand still while a machine
// sleeps.
const tick = 250 * time.Millisecond

// Guard starts a program again and again, until it is told to end. Its fields do not change.
type Guard struct {
	Program string
	Args    []string // without the program's name
	Env     []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Log     *slog.Logger
	Lost    int // the exit code of a child that owns no longer: it is to stand by soon

	instance string
}

// Run returns the exit code of the last child: the one that ended after SIGTERM or SIGINT, with which
// the guard ends too, or one that never called Until, such as for a wrong configuration. All signals go
// to the child. Run keeps its thread, with which the kernel would end the child.
func (g *Guard) Run(signals <-chan os.Signal) (code int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g.instance = rand.Text()
	for pause := time.Duration(0); ; {
		began := Now()
		one, err := g.start()
		if err != nil {
			return 0, err
		}
		if one.wait(signals); one.ending || !one.up {
			return one.cmd.ProcessState.ExitCode(), nil
		}
		pause = g.pause(pause, Now()-began, one.killed, one.cmd.ProcessState.ExitCode())
		g.Log.Warn("the host's process has ended and is started again", "code", one.cmd.ProcessState.String(), "killed", one.killed)
		if over(signals, pause) {
			return 0, nil
		}
	}
}

// pause is how long the guard waits after a child that has ended: longer each time, unless it ran for long or has only
// lost its time, as on a busy machine. Then the next one is to stand by soon, as the other host may be lost as well.
func (g *Guard) pause(last, ran time.Duration, killed bool, code int) time.Duration {
	if last == 0 || ran > 4*longestPause || killed || code == g.Lost {
		return firstPause
	}
	return min(2*last, longestPause)
}

// over waits for a pause, and reports whether a signal ends the guard in it.
func over(signals <-chan os.Signal, pause time.Duration) bool {
	after := time.After(pause)
	for {
		select {
		case s := <-signals:
			if ends(s) {
				return true
			}
		case <-after:
			return false
		}
	}
}

func ends(s os.Signal) bool { return s == syscall.SIGTERM || s == os.Interrupt }

// child is one run of the program.
type child struct {
	cmd    *exec.Cmd
	beats  chan time.Duration // deadlines; 0: none; closed behind the last one
	ended  chan struct{}
	closes []io.Closer

	up, ending, killed bool
}

func (g *Guard) start() (_ *child, err error) {
	beats, tell, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	life, alive, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the host: %w", err), beats.Close(), tell.Close())
	}
	c := &child{beats: make(chan time.Duration), ended: make(chan struct{}), closes: []io.Closer{beats, alive}}
	c.cmd = exec.Command(g.Program, g.Args...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = g.Stdin, g.Stdout, g.Stderr
	c.cmd.Env = append(slices.DeleteFunc(slices.Clone(g.Env), forManager), Variable+"="+g.instance)
	c.cmd.ExtraFiles, c.cmd.SysProcAttr = []*os.File{tell, life}, attributes()
	err = c.cmd.Start()
	_, _ = tell.Close(), life.Close() // the child's own
	if err != nil {
		c.close()
		return nil, fmt.Errorf("start the host: %w", err)
	}
	go c.read(beats)
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()                                // ProcessState says how it went
		_ = beats.SetReadDeadline(time.Now().Add(tick)) // if a process of the child has its end of the pipe
	}()
	return c, nil
}

// forManager reports whether a variable is for the process that the service manager knows, the guard.
func forManager(variable string) bool {
	return slices.ContainsFunc([]string{"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID="}, func(name string) bool { return strings.HasPrefix(variable, name) })
}

func (c *child) close() {
	for _, one := range c.closes {
		_ = one.Close()
	}
}

// read hands on the child's deadlines, to the last one before its end.
func (c *child) read(from io.Reader) {
	defer close(c.beats)
	beat := make([]byte, 8)
	for {
		if _, err := io.ReadFull(from, beat); err != nil {
			return
		}
		c.beats <- time.Duration(binary.BigEndian.Uint64(beat))
	}
}

// wait passes signals on and kills the child at its deadline. It returns when the child has ended. A
// signal that ends nothing waits until the child is up: it would kill one that does not listen yet.
func (c *child) wait(signals <-chan os.Signal) {
	defer c.close()
	var deadline time.Duration
	var held []os.Signal
	beats := c.beats
	look := time.NewTimer(tick)
	defer look.Stop()
	for {
		select {
		case at, more := <-beats:
			if !more { // the child has ended, or nearly
				beats = nil
				continue
			}
			c.up, deadline = true, at
		case s := <-signals:
			c.ending = c.ending || ends(s)
			held = append(held, s)
		case <-c.ended:
			for range c.beats {
				c.up = true
			}
			return
		case <-look.C:
		}
		if c.up || c.ending {
			for _, s := range held {
				_ = c.cmd.Process.Signal(s) // it may have ended
			}
			held = nil
		}
		if deadline == 0 {
			look.Stop()
			continue
		}
		left := min(deadline-Now(), tick)
		if left <= 0 {
			c.killed = true
			_ = c.cmd.Process.Kill() // SIGTERM would wait with the frozen process
			left = tick
		}
		look.Reset(left)
	}
}
