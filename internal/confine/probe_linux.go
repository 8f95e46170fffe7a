package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeArg is the first argument of the program that Probe confines: this
// binary, which tries what it should not be able to do.
const probeArg = "__confined-probe"

// Probe confines this program itself and returns what holds. The error says
// which layer is not to be had, or which one does not hold.
func Probe(ctx context.Context) (Report, error) {
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return Report{}, fmt.Errorf("look at the network namespace: %w", err)
	}
	out, err := Runner{Mode: Confined}.Run(ctx, Command{Program: self, Args: []string{probeArg, network}})
	if err != nil {
		return Report{}, err
	}
	var r Report
	if err := json.Unmarshal(out, &r); err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	return r, nil
}

// probeInside is the confined program. Its status is 0 if all holds.
func probeInside(hostNetwork string) int {
	network, err := os.Readlink("/proc/self/ns/net")
	if err == nil {
		err = holds()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "confine:", err)
		return 1
	}
	r := Report{User: os.Getuid(), Landlock: landlockVersion(), Network: network != hostNetwork}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1
	}
	return 0
}

// holds tries each kind of thing that must fail.
func holds() error {
	if f, err := os.Open("/etc/passwd"); err == nil {
		_ = f.Close()
		return errors.New("a confined program can read other files")
	}
	if fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(fd)
		return errors.New("a confined program can make sockets")
	}
	if err := syscall.Kill(os.Getpid(), 0); err == nil {
		return errors.New("a confined program can send signals")
	}
	var bound unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, nil, &bound); err != nil || bound.Max != 0 {
		return errors.New("a confined program has no limits")
	}
	return nil
}
