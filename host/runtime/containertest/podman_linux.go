package containertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// podman is Debian's Podman with its service. Its containers are processes of
// their own, which outlive the service.
var podman = kind{ //nolint:gochecknoglobals // a constant
	program: "podman", from: "podman", data: "podman", lock: "podman.lock",
	args: func(d *daemon) []string {
		return append(podmanFlags(d), "system", "service", "--time=0", d.host())
	},
	// It insists on the paths of the first time, while what lies in d.run is new
	// each time. The images are not in there.
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
	// Podman's own choice, crun, does not start containers where the cgroups of
	// both versions are mounted.
	if _, err := exec.LookPath("runc"); err == nil {
		flags = append(flags, "--runtime=runc")
	}
	return flags
}

// endWatchers ends what Podman leaves for five minutes where a program was run
// in a container: the watcher of it, whose command line names the directory.
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
