// Package confine runs a program of the machine, such as ffmpeg, on an
// untrusted file. A file can take a parser over, so the program gets nothing
// that a parser does not need.
//
// The host starts its own binary again with a hidden first argument. That
// process drops its own rights, layer by layer, and then becomes the program:
//
//	user        a host that runs as root starts the process as a user and group
//	            that nobody else has, with no further groups
//	privileges  none can be gained (no_new_privs)
//	files       Landlock: read the libraries, the fonts, the program, the input
//	            and what the command names; write nothing but its result
//	calls       seccomp: no socket, no further process, nothing that changes a
//	            file's rights or times, no signal to another process, no
//	            namespace, trace or kernel extension
//	limits      memory, processor time, open files, threads; no byte to a file,
//	            or so many to the result
//	network     an empty network namespace and an IPC namespace
//
// All layers except the last are required. Many systems allow no namespaces,
// but without sockets the program cannot reach anything either. If a required
// layer is missing, the program does not run. The environment only has PATH and
// LC_ALL, and only the three standard descriptors are open, whatever the host
// itself was started with.
package confine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Mode says how programs run; the values are those of longshore.yaml.
type Mode string

const (
	Off        Mode = "off"        // no program runs
	Confined   Mode = "confined"   // with every required layer, or not at all
	Unconfined Mode = "unconfined" // with the host's own rights
)

// Arg is the first argument of a process that becomes a confined program. Main
// functions call Child before anything else.
const Arg = "__confined"

// ErrOff is the error of a Runner that runs nothing.
var ErrOff = errors.New("programs of the machine are turned off")

// Runner runs programs. The zero Runner runs none.
type Runner struct {
	Mode Mode

	// Temp creates an empty unnamed file for the given number of bytes, which
	// Run closes. A host that runs as root copies the input there, since the
	// program's user cannot open the host's own file. If Temp is nil, the file
	// is in the system's temporary directory.
	Temp func(bytes int64) (*os.File, error)

	noNamespaces bool // for tests: act like a system that allows none
}

// Limits are a program's resource limits. A zero means the default.
type Limits struct {
	Memory  int64 // bytes of address space; default 1 GiB
	CPU     int   // seconds of all threads together; default 5
	Files   int   // open at once; default 64
	Threads int   // of the program's user, if that user has no other processes; default 128
}

// Command is a program and the file that it reads.
type Command struct {
	Program string        // a name that is looked up in PATH, or an absolute path
	Args    []string      // without the program's name
	Input   *os.File      // standard input, read from the beginning; may be nil. Run does not close Input
	Time    time.Duration // after which the program is killed; 5 s if 0
	Output  int           // largest standard output in bytes; 64 KiB if 0
	Limits  Limits

	// Result, if not nil, is the program's standard output, up to Output bytes: an
	// empty file that the program may also write out of order, as /dev/stdout. Run
	// then returns no bytes and does not close Result.
	Result *os.File

	// Readable are further files and directories that the program may read, such as
	// a model. Nothing untrusted may name them.
	Readable []string
}

// Report describes the confinement that Probe found.
type Report struct {
	User     int  // user that the program runs as
	Landlock int  // version of the kernel's interface
	Network  bool // the network namespace is empty: it only has its own addresses
}

const (
	defaultTime   = 5 * time.Second
	defaultOutput = 64 << 10
	maxErrors     = 2 << 10 // bytes of standard error in an error of Run
)

// Run returns the program's standard output. It returns an error if the program
// cannot be confined, ends with a status other than 0, or exceeds its time or
// its output. The program and its process group are dead when Run returns. The
// error quotes untrusted text.
func (r Runner) Run(ctx context.Context, c Command) ([]byte, error) {
	if r.Mode != Confined && r.Mode != Unconfined {
		return nil, ErrOff
	}
	if len(os.Args) > 1 && os.Args[1] == Arg {
		return nil, errors.New("run a program: this process is to be one itself, and its main function does not call confine.Child")
	}
	c.defaults()
	path, err := exec.LookPath(c.Program)
	if err != nil {
		return nil, fmt.Errorf("find program: %w", err)
	}
	c.Program = path
	ctx, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	out, errs := &capped{left: c.Output, full: cancel}, &capped{left: maxErrors}
	build := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Stdout = out
		if c.Result != nil {
			cmd.Stdout = c.Result
		}
		cmd.Stderr, cmd.Dir, cmd.Env = errs, "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
		cmd.Cancel, cmd.WaitDelay = func() error { return killGroup(cmd) }, time.Second
		return cmd
	}
	err = r.start(ctx, c, build)
	switch {
	case out.over:
		return nil, fmt.Errorf("run %s: more than %d bytes of output", c.Program, c.Output)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s: %w", c.Program, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("run %s: %w: %q", c.Program, err, bytes.TrimSpace(errs.data))
	}
	return out.data, nil
}

func (c *Command) defaults() {
	c.Time = cmp.Or(c.Time, defaultTime)
	c.Output = cmp.Or(c.Output, defaultOutput)
	l := &c.Limits
	l.Memory = cmp.Or(l.Memory, 1<<30)
	l.CPU = cmp.Or(l.CPU, 5)
	l.Files = cmp.Or(l.Files, 64)
	l.Threads = cmp.Or(l.Threads, 128)
}

// start runs the program until it ends.
func (r Runner) start(ctx context.Context, c Command, build func(*exec.Cmd) *exec.Cmd) error {
	if r.Mode == Unconfined {
		cmd := build(exec.CommandContext(ctx, c.Program, c.Args...))
		cmd.SysProcAttr = groupOfItsOwn()
		if err := rewind(cmd, c.Input); err != nil {
			return err
		}
		return cmd.Run()
	}
	return r.confined(ctx, c, build)
}

// rewind makes input the program's standard input, from its beginning.
func rewind(cmd *exec.Cmd, input *os.File) error {
	if input == nil {
		return nil // os/exec then uses /dev/null
	}
	if _, err := input.Seek(0, 0); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	cmd.Stdin = input
	return nil
}

// capped keeps up to left bytes. At the first byte more, it calls full and
// fails; without full, it drops the rest.
type capped struct {
	data []byte
	left int
	over bool
	full func()
}

func (b *capped) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.data, b.left = append(b.data, p[:n]...), b.left-n
	if n < len(p) {
		b.over = true
		if b.full == nil {
			return len(p), nil
		}
		b.full()
		return n, errors.New("too much output")
	}
	return n, nil
}
