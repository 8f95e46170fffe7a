package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	answerBytes = 4 << 10 // longest answer of a command
	answerWait  = 30 * time.Second
	copyWait    = 5 * time.Minute
	socketBytes = 104 // longest path of a unix socket on every system that sshd runs on
)

// Home is what Probe has learned of the user's account on the machine.
type Home struct {
	Dir string // absolute
	UID string
	GID string
}

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]{0,200}$`)

// Probe checks that the account has a shell, that the machine can run the
// binary at local, and returns the account's home directory.
func (c *Conn) Probe(ctx context.Context, local string) (Home, error) {
	h, system, err := c.account(ctx)
	if err != nil {
		return Home{}, err
	}
	want, err := machine(local)
	if err != nil {
		return Home{}, err
	}
	if system != want {
		return Home{}, &Fault{fmt.Sprintf("the machine is %.60q, but agentrunner is built for %q", system, want), "install the agentrunner for that machine's processor on the host", nil}
	}
	return h, nil
}

// account checks that the account has a shell, and returns its home directory and what
// `uname -sm` prints there.
func (c *Conn) account(ctx context.Context) (h Home, system string, err error) {
	mark := "longshore-" + rand.Text()
	out, err := c.command(ctx, answerWait, `printf '%s\n' `+mark+` "$HOME" "$(id -u)" "$(uname -sm)" "$(id -g)"`, nil, answerBytes)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if lost := (*ssh.ExitError)(nil); err != nil && !errors.As(err, &lost) {
		return Home{}, "", err
	}
	if err != nil || len(lines) != 5 || lines[0] != mark {
		return Home{}, "", &Fault{"the account has no usable shell", "give the user a POSIX shell that prints nothing by itself, and no forced command", err}
	}
	h = Home{Dir: lines[1], UID: lines[2], GID: lines[4]}
	if !plainPath.MatchString(h.Dir) || path.Clean(h.Dir) != h.Dir {
		return Home{}, "", &Fault{"the account's home directory has an unusual name", "give the user a home directory with plain letters and digits", nil}
	}
	return h, lines[3], nil
}

// machine returns what `uname -sm` prints where the binary runs.
func machine(binary string) (string, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return "", fmt.Errorf("read agentrunner: %w", err)
	}
	defer f.Close()
	switch f.Machine {
	case elf.EM_X86_64:
		return "Linux x86_64", nil
	case elf.EM_AARCH64:
		return "Linux aarch64", nil
	}
	return "", &Fault{"agentrunner is built for a processor that is not supported", "use a released agentrunner", nil}
}

// Install copies the binary at local to the machine, if its content is not there
// yet, and returns its path there. The file gets its name only after the host
// has read its bytes back and found them equal.
func (c *Conn) Install(ctx context.Context, h Home, local string) (string, error) {
	text, err := os.ReadFile(local)
	if err != nil {
		return "", fmt.Errorf("read agentrunner: %w", err)
	}
	sum := sha256.Sum256(text)
	dir := path.Join(h.Dir, ".longshore/bin")
	name := path.Join(dir, "agentrunner-"+hex.EncodeToString(sum[:]))
	if c.same(ctx, name, sum, len(text)) {
		return name, nil
	}
	part := path.Join(dir, "part-"+rand.Text())
	defer c.command(context.WithoutCancel(ctx), answerWait, "rm -f "+part, nil, answerBytes)
	_, err = c.command(ctx, copyWait, "umask 077; mkdir -p "+dir+" && cat >"+part+" && sync && chmod 700 "+part, bytes.NewReader(text), answerBytes)
	if err != nil {
		return "", &Fault{"cannot copy agentrunner to the machine", "make room on the disk of the user's home directory, and let the user write there", err}
	}
	if !c.same(ctx, part, sum, len(text)) {
		return "", &Fault{"the copy of agentrunner differs", "check the machine's disk", nil}
	}
	if _, err := c.command(ctx, answerWait, "mv -f "+part+" "+name, nil, answerBytes); err != nil {
		return "", fmt.Errorf("name the copy of agentrunner: %w", err)
	}
	return name, nil
}

// same reads a file of the machine and compares it.
func (c *Conn) same(ctx context.Context, name string, sum [32]byte, size int) bool {
	out, err := c.command(ctx, copyWait, "cat "+name, nil, size)
	return err == nil && sha256.Sum256(out) == sum
}

// Listen makes a unix socket on the machine that only the account can reach, and
// returns its path there. Connections to it arrive at the listener. slot, lower
// case hexadecimal, says whose socket it is: older ones of the slot are removed.
// The caller closes the listener.
func (c *Conn) Listen(ctx context.Context, h Home, slot string) (net.Listener, string, error) {
	if !plainSlot.MatchString(slot) {
		return nil, "", errors.New("listen: not a slot")
	}
	dir := path.Join(h.Dir, ".longshore/run")
	name := path.Join(dir, slot+"-"+strings.ToLower(rand.Text())+".sock")
	if len(name) > socketBytes {
		return nil, "", &Fault{"the path of the home directory is too long for a socket", "give the user a shorter home directory", nil}
	}
	if _, err := c.command(ctx, answerWait, "umask 077; mkdir -p "+dir+" && rm -f "+dir+"/"+slot+"-*.sock", nil, answerBytes); err != nil {
		return nil, "", &Fault{"cannot make a directory for the socket", "let the user write in its home directory", err}
	}
	if err := c.private(ctx, dir, "drwx------", h.UID, "~/.longshore/run"); err != nil {
		return nil, "", err
	}
	listener, err := c.listen(ctx, name)
	if err != nil {
		return nil, "", err
	}
	if err := c.private(ctx, name, "srw-------", h.UID, "~/.longshore/run"); err != nil {
		listener.Close()
		return nil, "", err
	}
	return listener, name, nil
}

// listen has the machine make a socket of this name, and forward connections to it.
func (c *Conn) listen(ctx context.Context, name string) (net.Listener, error) {
	stop := context.AfterFunc(ctx, func() { c.client.Close() })
	listener, err := c.client.ListenUnix(name)
	stop()
	if err != nil {
		return nil, &Fault{"the machine forbids to forward a socket", "set AllowStreamLocalForwarding yes for the user in the machine's sshd_config, and no `restrict` in authorized_keys", err}
	}
	return piped{listener}, nil
}

// piped gives connections deadlines, which those of package ssh do not have: a server
// could not end one that sends nothing.
type piped struct{ net.Listener }

func (l piped) Accept() (net.Conn, error) {
	far, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	mine, inner, err := socketpair()
	if err != nil {
		return nil, errors.Join(err, far.Close())
	}
	go func() { // what comes from there; its end is not that of the answer
		_, _ = io.Copy(inner, far)
		_ = inner.(*net.UnixConn).CloseWrite()
	}()
	go func() { // the answers, whose end is that of both
		_, _ = io.Copy(far, inner)
		_ = far.Close()
		_ = inner.Close()
	}()
	return mine, nil
}

// socketpair returns two ends of a connection within this process.
func socketpair() (a, b net.Conn, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	var ends [2]net.Conn
	var errs [2]error
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		ends[i], errs[i] = net.FileConn(f)
		_ = f.Close() // FileConn has a copy
	}
	if err := errors.Join(errs[:]...); err != nil {
		for _, c := range ends {
			if c != nil {
				_ = c.Close()
			}
		}
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return ends[0], ends[1], nil
}

// private checks kind, mode and owner of a file of the machine, in the directory that
// above names for the operator. An access list
// shows as a further sign after the mode, and is refused.
func (c *Conn) private(ctx context.Context, name, mode, owner, above string) error {
	out, err := c.command(ctx, answerWait, "LC_ALL=C ls -ldn "+name, nil, answerBytes)
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 {
		return fmt.Errorf("check the socket's directory: %w", errors.Join(err, errors.New("ls gave no mode")))
	}
	if strings.TrimSuffix(fields[0], ".") != mode || fields[2] != owner {
		return &Fault{fmt.Sprintf("other users of the machine could reach the socket: %.20q of user %.12q", fields[0], fields[2]), "make " + above + " a directory of mode 700 of that user, and leave StreamLocalBindMask at 0177", nil}
	}
	return nil
}

// command runs a shell command on the machine and returns its output, of at most
// limit bytes.
func (c *Conn) command(ctx context.Context, wait time.Duration, line string, stdin io.Reader, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	// A channel's requests cannot be cancelled: a machine that does not answer loses its connection.
	stop := context.AfterFunc(ctx, func() { c.client.Close() })
	defer stop()
	s, err := c.client.NewSession()
	if err != nil {
		return nil, fmt.Errorf("open ssh session: %w", err)
	}
	defer s.Close()
	s.Stdin = stdin
	out := &bounded{left: limit, session: s}
	s.Stdout = out
	if err = s.Run(line); ctx.Err() != nil {
		err = ctx.Err()
	}
	if out.over {
		err = errors.New("the machine's answer is too long")
	}
	return out.text, err
}

// bounded keeps what a machine prints. It embeds no buffer, whose ReadFrom would
// read without bound.
type bounded struct {
	text []byte
	left int
	over bool

	session io.Closer // closed when it prints more
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.over = true
		_ = b.session.Close()
		return 0, io.ErrShortWrite
	}
	b.left -= len(p)
	b.text = append(b.text, p...)
	return len(p), nil
}

func hasText(err error, text string) bool { return strings.Contains(err.Error(), text) }
