package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// TestTheReasonWhyNothingStartsNamesThePackage: in the words of the engines.
func TestTheReasonWhyNothingStartsNamesThePackage(t *testing.T) {
	for words, want := range map[string]string{
		"container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory":                         "catatonit",
		`lookup init binary: could not find "catatonit" in one of [/usr/local/libexec/podman /usr/libexec/podman]`:                           "catatonit",
		`exec: "docker-init": executable file not found in $PATH`:                                                                            "docker.io",
		"could not find a working conmon binary (configured options: [/usr/libexec/podman/conmon]): invalid argument":                        "conmon",
		`default OCI runtime "crun" not found: invalid argument`:                                                                             "crun",
		`failed to start shim: start failed: exec: "containerd-shim-runc-v2": executable file not found in $PATH: unknown`:                   "containerd",
		"fork/exec /usr/sbin/runc: no such file or directory":                                                                                "runc",
		`could not find "netavark" in one of {[/usr/libexec/podman]}. To resolve this error, set the helper_binaries_dir key`:                "netavark",
		`could not find slirp4netns, the network namespace can't be configured: exec: "slirp4netns": executable file not found in $PATH`:     "slirp4netns",
		`cannot find newuidmap: exec: "newuidmap": executable file not found in $PATH`:                                                       "uidmap",
		`crun: write to /sys/fs/cgroup/memory.max: Permission denied: OCI permission denied`:                                                 "",
		`runc create failed: unable to start container process: error during container init: error mounting "proc": operation not permitted`: "",
	} {
		err := explain(cannotStart(errors.New(words)))
		if got := cause.Package(err); got != want || cause.Of(err) != cause.Start {
			t.Errorf("%s\nis %s with the package %q, want %q", words, cause.Of(err), got, want)
		}
	}
}

// TestOtherReasonsKeepTheirCause, which engines pass on the same way.
func TestOtherReasonsKeepTheirCause(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want cause.Cause
	}{
		"program": {errors.New(`runc create failed: exec: "agentrunner": executable file not found in $PATH: unknown`), cause.NotInstalled},
		"image":   {errdefs.ErrNotFound.WithMessage("No such image: here:1"), cause.Image},
		"network": {errdefs.ErrNotFound.WithMessage("network here not found"), cause.Start},
		"cut":     {&net.OpError{Op: "read", Err: io.ErrUnexpectedEOF}, ""},
		"ended":   {context.Canceled, ""},
		"broken":  {io.ErrUnexpectedEOF, ""},
	} {
		if got := cause.Of(explain(cannotStart(tc.err))); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if cannotStart(nil) != nil {
		t.Error("no error became one")
	}
}
