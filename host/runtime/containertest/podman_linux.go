package containertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// podman is Debian's Podman with its service. Podman's containers are separate
// processes, which outlive the service.
var podman = kind{ //nolint:gochecknoglobals // a constant
	program: "podman", from: "podman", data: "podman", lock: "podman.lock",
	args: func(d *daemon) []string {
		return append(podmanFlags(d), "system", "service", "--time=0", d.host())
	},
	// Podman insists on the paths of its first start, but d.run is new at each
	// start. The images are not in libpod.
	clear: func(d *daemon) error { return os.RemoveAll(filepath.Join(d.data, "libpod")) },
	end: func(d *daemon) {
		exec.Command("podman", append(podmanFlags(d), "rm", "--all", "--force", "--time=0")...).Run()
		endWatchers(d.run)
	},
}

func podmanFlags(d *daemon) []string {
	flags := []string{
		"--root", d.data, "--runroot", filepath.Join(d.run, "r"), "--tmpdir", filepath.Join(d.run, "t"),
		"--cgroup-manager=cgroupfs", "--events-backend=file", // there need be no systemd
	}
	// Podman's default, crun, does not start containers on a machine that has
	// the cgroups of both versions mounted.
	if _, err := exec.LookPath("runc"); err == nil {
		flags = append(flags, "--runtime=runc")
	}
	return flags
}

// endWatchers kills the watchers (conmon) that Podman leaves for five minutes
// after a program was run in a container. Their command line names the
// directory.
func endWatchers(run string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte(run+"/r")) || !bytes.Contains(line, []byte("conmon")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
