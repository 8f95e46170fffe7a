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
// binary, which then tries what must fail.
const probeArg = "__confined-probe"

// probeMemory is enough for a Go program, whose runtime reserves most of the default's
// addresses at its start.
const probeMemory = 4 << 30

// Probe confines this program itself and reports which layers work. The error
// names the layer that is missing or does not work.
func Probe(ctx context.Context) (Report, error) {
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return Report{}, fmt.Errorf("examine the network namespace: %w", err)
	}
	out, err := Runner{Mode: Confined}.Run(ctx, Command{Program: self, Args: []string{probeArg, network}, Limits: Limits{Memory: probeMemory}})
	if err != nil {
		return Report{}, err
	}
	var r Report
	if err := json.Unmarshal(out, &r); err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	return r, nil
}

// probeInside is the confined program. Its exit status is 0 if every layer
// works.
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

// holds tries one action of each kind that must fail.
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
