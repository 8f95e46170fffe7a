package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

const (
	// fewInstances is too small a distance between the inotify instances in use
	// and the kernel's limit per user.
	fewInstances = 8

	// watchesPerGroup is how many watches one group needs, with a reserve for
	// directories that are created again.
	watchesPerGroup = 4

	leastFiles  = 64       // that a host needs with one group and one channel
	leastGrowth = 64 << 20 // bytes by which its database must be able to grow

	// containerUID is the unprivileged user of Longshore's agent image and of
	// NanoClaw v1's.
	containerUID = 1000
)

// Machine returns what keeps every host from starting here.
func (d Doctor) Machine(context.Context) (all []finding.Finding) {
	// Each file is checked by one descriptor and opened again by /proc/self/fd. A bare chroot or container lacks it.
	if _, err := os.Stat(filepath.Join(cmp.Or(d.Proc, "/proc"), "self/fd")); err != nil && runtime.GOOS == "linux" {
		all = found(finding.Process, "machine", finding.Fault, "there is no /proc: no file of an assistant can be opened, so none can be sent", "mount it: mount -t proc proc /proc")
	}
	files, size := limits()
	if files < leastFiles {
		all = append(all, found(finding.FilesFew, finding.LimitsPart, finding.Fault, fmt.Sprintf("this process may open %d files, and a host needs at least %d", files, leastFiles), finding.MoreFiles)...)
	}
	if need := uint64(leastGrowth + d.databases()); size < need {
		all = append(all, found(finding.FileSize, finding.LimitsPart, finding.Fault,
			fmt.Sprintf("this process may write files of up to %s, and a host needs %s for its database", media.Size(int64(size)), media.Size(int64(need))), finding.Remedy(syscall.EFBIG, ""))...)
	}
	return all
}

// databases returns the size of the largest database, in bytes.
func (d Doctor) databases() (most int64) {
	for _, s := range d.Stores {
		if fi, err := os.Stat(filepath.Join(s.Dir, s.File)); err == nil && !s.OnServer() {
			most = max(most, fi.Size())
		}
	}
	return most
}

// inotify checks the kernel's limits. Without inotify the host polls, so
// nothing here is more than a warning.
func (d Doctor) inotify(context.Context) []finding.Finding {
	instances, ok1 := d.number("sys/fs/inotify/max_user_instances")
	watches, ok2 := d.number("sys/fs/inotify/max_user_watches")
	if !ok1 || !ok2 {
		return found(finding.Inotify, "inotify", finding.Note, "the limits of inotify are unknown here; the host polls if it cannot watch", "mount /proc, if the host is to watch its queues")
	}
	var all []finding.Finding
	if used := d.instancesUsed(); instances-used < fewInstances {
		all = append(all, found(finding.Inotify, "inotify", finding.Warning, fmt.Sprintf("%d of the %d inotify instances of this user are in use; without one the host polls", used, instances),
			"sysctl fs.inotify.max_user_instances=512, and find out which program uses them")...)
	}
	if need := watchesPerGroup * (len(d.Groups) + 1); watches < need {
		all = append(all, found(finding.Inotify, "inotify", finding.Warning, fmt.Sprintf("%d inotify watches are allowed, the groups need about %d", watches, need),
			"sysctl fs.inotify.max_user_watches=65536")...)
	}
	if len(all) == 0 {
		return well("inotify", fmt.Sprintf("%d instances and %d watches are allowed", instances, watches))
	}
	return all
}

func (d Doctor) number(name string) (int, bool) {
	data, err := os.ReadFile(filepath.Join(d.Proc, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return n, err == nil
}

// instancesUsed counts the inotify descriptors of this user's processes.
func (d Doctor) instancesUsed() int {
	procs, _ := filepath.Glob(filepath.Join(d.Proc, "[0-9]*"))
	n := 0
	for _, proc := range procs {
		if fi, err := os.Stat(proc); err != nil || !safefs.Mine(fi) {
			continue
		}
		fds, _ := safefs.ReadDir(filepath.Join(proc, "fd"))
		for _, fd := range fds {
			if target, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name())); target == "anon_inode:inotify" {
				n++
			}
		}
	}
	return n
}

// clock checks that the time is plausible: requests, receipts and TLS
// certificates depend on it.
func (d Doctor) clock(context.Context) []finding.Finding {
	if now := time.Now(); now.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return found(finding.Clock, "clock", finding.Fault, "the clock shows "+now.UTC().Format(time.DateOnly), "set the clock, and synchronize it by NTP: platforms refuse a host whose clock is far off")
	}
	if synced, known := clockSynchronized(); known && !synced {
		return found(finding.Unsynced, "clock", finding.Note, "the kernel reports that the clock is not synchronized", "run an NTP client such as systemd-timesyncd or chrony")
	}
	return well("clock", "the clock is plausible")
}

// user compares the user who runs the doctor with the host's user, who owns the
// state directory.
func (d Doctor) user(context.Context) []finding.Finding {
	host, ok := d.owner()
	if !ok {
		return nil
	}
	if self := os.Geteuid(); self == 0 && host != 0 {
		return found(finding.User, "user", finding.Note, fmt.Sprintf("this is root, and the state directory belongs to user %d", host),
			fmt.Sprintf("run longshore as that user, with sudo -u '#%d': the host cannot change files that root creates there", host))
	}
	if host == 0 && d.Container {
		return found(finding.User, "user", finding.Note, fmt.Sprintf("the host runs as root, assistants as user %d", agentUser(host)),
			"a user of its own, a member of the container engine's group, is enough for the host")
	}
	return well("user", "the state directory belongs to the user who runs this")
}

// owner returns the owner of the state directory.
func (d Doctor) owner() (uid int, ok bool) {
	fi, err := os.Stat(d.Layout.State)
	if err != nil {
		return 0, false
	}
	return safefs.UID(fi)
}

// agentUser returns the user that assistants run as in their containers if the
// host runs as the given user. It is groups.AgentUser for another process.
func agentUser(host int) int {
	if host != 0 {
		return host
	}
	return containerUID
}

// addresses finds those on which a host cannot listen, as the running host would say it.
func (d Doctor) addresses(context.Context) (all []finding.Finding) {
	for _, l := range d.Config.Listens() {
		taken := httpd.Taken(l.Address)
		switch {
		case taken == nil:
		case l.Channel != "":
			all = append(all, found(finding.Channel, "channel "+l.Channel, finding.Fault, taken.Error(), finding.Occupied(l.Key, "run longshore reload; the host tries again by itself"))...)
		default:
			all = append(all, found(finding.Listener, l.Key, finding.Fault, taken.Error(), finding.Occupied(l.Key, "restart the host"))...)
		}
	}
	return all
}
