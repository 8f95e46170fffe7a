//go:build e2e

package docker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
)

// TestContainerSeesItsMountsWithTheirModes compares the mount table as the
// kernel tells it inside with the group's mount map.
func TestContainerSeesItsMountsWithTheirModes(t *testing.T) {
	w := newWorld(t)
	photos := filepath.Join(realTemp(t), "photos")
	if err := os.Mkdir(photos, 0o755); err != nil {
		t.Fatal(err)
	}
	w.family.Mounts = []groups.Extra{{Name: "photos", Host: photos}}
	got := lines(w.ask(`while read -r _ dir type opts _; do case $dir in /workspace*|/|/tmp|/home/agent) echo "$dir ${opts%%,*}"; esac; done </proc/mounts`))
	slices.Sort(got)
	want := []string{
		"/ ro", "/home/agent rw", "/tmp rw", "/workspace/extra/photos ro", "/workspace/global ro", "/workspace/group rw",
		"/workspace/ipc/context ro", "/workspace/ipc/files rw", "/workspace/ipc/input rw", "/workspace/ipc/messages rw", "/workspace/ipc/results ro",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts, want -, got +:\n%s", diff)
	}
}

// TestContainerCanWriteOnlyWhatItMay tries each directory with a real write.
func TestContainerCanWriteOnlyWhatItMay(t *testing.T) {
	w := newWorld(t)
	answer := w.ask(`for d in /workspace/group /workspace/ipc/messages /workspace/ipc/files /workspace/ipc/input /tmp "$HOME" \
		/ /etc /usr/bin /workspace /workspace/ipc /workspace/global /workspace/ipc/results /workspace/ipc/context; do
		if (: >"$d/probe") 2>/dev/null; then echo "$d yes"; else echo "$d no"; fi; done
	mv /workspace/ipc/messages /workspace/ipc/elsewhere 2>/dev/null && echo "moved messages"
	rmdir /workspace/ipc/results 2>/dev/null && echo "removed results"
	true`)
	want := []string{
		"/workspace/group yes", "/workspace/ipc/messages yes", "/workspace/ipc/files yes", "/workspace/ipc/input yes", "/tmp yes", "/home/agent yes",
		"/ no", "/etc no", "/usr/bin no", "/workspace no", "/workspace/ipc no", "/workspace/global no", "/workspace/ipc/results no", "/workspace/ipc/context no",
	}
	if diff := cmp.Diff(want, lines(answer)); diff != "" {
		t.Errorf("writable, want -, got +:\n%s", diff)
	}
}

// TestContainerHasNoRights asks the kernel what the assistant is.
func TestContainerHasNoRights(t *testing.T) {
	w := newWorld(t)
	answer := w.ask(`id -u; id -g; grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t'
	pwd; echo "$HOME"; date +%Z
	ls /proc | grep -c '^[0-9]'; ls -l /proc/self/fd | grep -c -E '/state/|docker'; ls /dev | tr '\n' ' '; echo; cat /proc/net/dev | grep -c :`)
	got := lines(answer)
	want := []string{
		"1000", "1000", "CapInh:0000000000000000", "CapPrm:0000000000000000", "CapEff:0000000000000000", "CapBnd:0000000000000000", "CapAmb:0000000000000000",
		"NoNewPrivs:1", "Seccomp:2", "/workspace/group", "/home/agent",
	}
	if len(got) < len(want) || !cmp.Equal(got[:len(want)], want) {
		t.Fatalf("the assistant is %q, want it to begin with %q", got, want)
	}
	rest := got[len(want):]
	if rest[2] != "0" {
		t.Errorf("%s descriptors of the host are open inside", rest[2])
	}
	if devices := strings.Fields(rest[3]); slices.ContainsFunc(devices, func(d string) bool {
		return !slices.Contains([]string{"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}, d)
	}) {
		t.Errorf("devices inside: %q", devices)
	}
	if rest[4] != "1" {
		t.Errorf("with network none there are %s interfaces, want loopback alone", rest[4])
	}
}

// TestContainerCannotReachOut does what an assistant would try that wants more
// than its group.
func TestContainerCannotReachOut(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.layout.Workspace("neighbour"), "diary.txt"), "secret of the neighbour", 0o644)
	w.write(filepath.Join(w.layout.IPC("family", "results"), "r.json"), `{"status":"failed"}`, 0o644)
	w.write(filepath.Join(w.layout.Store(), "keys.db"), "secret of the host", 0o644)
	answer := w.ask(`try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "REACHED $name"; fi; }
	try neighbour sh -c 'find / -name diary.txt 2>/dev/null | grep .'
	try keys sh -c 'find / -name keys.db 2>/dev/null | grep .'
	try socket sh -c 'find / -name "docker*.sock" -o -name containerd.sock 2>/dev/null | grep .'
	try up cat /workspace/group/../neighbour/diary.txt
	try root ls /proc/1/root/../../neighbour
	try forge sh -c 'echo forged >/workspace/ipc/results/r.json'
	try replace sh -c 'cd /workspace/ipc/results && rm -f r.json'
	try chmod chmod 777 /workspace/ipc/results
	try mount mount -t tmpfs none /mnt
	try remount mount -o remount,rw /workspace/ipc/results
	try bind mount --bind /workspace/group /workspace/ipc/results
	try unshare unshare -r -m true
	try chroot chroot / true
	try mknod mknod /tmp/disk b 8 0
	try sysctl sh -c 'echo 1 >/proc/sys/kernel/panic'
	try sysrq sh -c 'echo b >/proc/sysrq-trigger'
	try cgroup sh -c 'echo max >/sys/fs/cgroup/memory.max'
	try kmsg dmesg
	try su su -c true
	try ptrace sh -c 'cat /proc/1/environ | grep -q 'hunter[2]''
	try device sh -c 'ls /dev/vda /dev/sda /dev/mem /dev/kvm 2>/dev/null | grep .'
	try network sh -c '(exec 3<>/dev/tcp/127.0.0.1/22)'
	echo done`)
	want := "done|"
	if w.onPodman() { // whose filter of system calls leaves this one open; see TestUserNamespaceLeadsNowhere
		want = "REACHED unshare|done|"
	}
	if answer != want {
		t.Errorf("a container reached what it must not: %s", answer)
	}
	if got, _ := os.ReadFile(filepath.Join(w.layout.IPC("family", "results"), "r.json")); string(got) != `{"status":"failed"}` {
		t.Errorf("the result became %q", got)
	}
}

// TestRootInContainerIsHeldByItsMounts runs as root beside the assistant, as
// "docker exec --user 0" does: root without capabilities reaches nothing that
// the mounts do not give, and not even what belongs to the assistant's user.
func TestRootInContainerIsHeldByItsMounts(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.layout.IPC("family", "results"), "r.json"), `{"status":"failed"}`, 0o644)
	s := w.start(w.spec(`umask 077; echo private >/workspace/group/private; ` + say("up") + `; sleep 1000`))
	if out := <-s.Outputs(); out.Result == nil || *out.Result != "up" {
		t.Fatalf("said %v; its log:\n%s", out, w.log())
	}
	got := lines(w.asRoot(`try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "REACHED $name"; fi; }
	id -u; grep CapEff: /proc/self/status | tr -d '\t'; grep NoNewPrivs: /proc/self/status | tr -d '\t'
	try results cat /workspace/ipc/results/r.json
	try forge sh -c 'echo forged >/workspace/ipc/results/r.json'
	try replace rm -f /workspace/ipc/results/r.json
	try system sh -c ': >/etc/probe'
	try binary sh -c ': >/usr/local/bin/probe'
	try queue sh -c ': >/workspace/ipc/probe'
	try global sh -c ': >/workspace/global/probe'
	try private cat /workspace/group/private
	try remount mount -o remount,rw,bind /workspace/ipc/results
	try mount mount -t tmpfs none /mnt
	try mknod mknod /tmp/disk b 8 0
	try chown chown 0:0 /workspace/group
	try chroot chroot / true
	try unshare unshare -m true
	try su su nobody -s /bin/sh -c true
	try sysctl sh -c 'echo 1 >/proc/sys/kernel/panic'
	try cgroup sh -c 'echo max >/sys/fs/cgroup/memory.max || echo max >/sys/fs/cgroup/memory/memory.limit_in_bytes'
	try kill kill -0 1
	try neighbour sh -c 'find / -path "*neighbour*" 2>/dev/null | grep .'
	true`))
	want := []string{"0", "CapEff:0000000000000000", "NoNewPrivs:1", "REACHED results"} // reading them is granted
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("root in the container, want -, got +:\n%s", diff)
	}
	if got, _ := os.ReadFile(filepath.Join(w.layout.IPC("family", "results"), "r.json")); string(got) != `{"status":"failed"}` {
		t.Errorf("the result became %q", got)
	}
}

// TestShadowsHideWhatTheyHide looks at main's project directory from inside.
func TestShadowsHideWhatTheyHide(t *testing.T) {
	w := newWorld(t)
	project := filepath.Dir(w.layout.State)
	w.layout.Project = project
	w.family.Main = true
	w.write(filepath.Join(project, ".env"), "KEY=secret", 0o644)
	w.write(filepath.Join(project, "README"), "read me", 0o644)
	// Also where the modes on the host would let everybody see: an engine that
	// copies what it covers would keep them.
	if err := os.Chmod(w.layout.State, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.layout.State, "keys"), "secret of the host", 0o644)
	got := lines(w.ask(`cat /workspace/project/README; echo; wc -c </workspace/project/.env; grep -c /workspace/project/state /proc/mounts; ls -A /workspace/project/state 2>/dev/null | wc -l
	(: >/workspace/project/probe) 2>/dev/null && echo wrote; (: >/workspace/project/state/probe) 2>/dev/null && echo "wrote state"
	cat /workspace/project/state/keys 2>/dev/null; true`))
	if want := []string{"read me", "0", "1", "0"}; !cmp.Equal(got, want) {
		t.Errorf("main sees %q in the project, want %q", got, want)
	}
}

// TestSecretsAreInNoConfiguration looks where whoever may ask the engine looks.
func TestSecretsAreInNoConfiguration(t *testing.T) {
	w := newWorld(t)
	said := w.ask(`cat | grep -c 'hunter[2]'; tr '\0' '\n' </proc/1/environ | grep -c 'hunter[2]'; grep -c 'hunter[2]' /proc/1/cmdline; env | grep -E '^(LONGSHORE|TZ)' | sort`)
	got := lines(said)
	if len(got) < 3 || !cmp.Equal(got[:3], []string{"1", "0", "0"}) {
		t.Errorf("the secret is on stdin, in the environment, on the command line %q times; want 1, 0, 0", got[:3])
	}
	want := []string{"LONGSHORE_AGENT=sample", "LONGSHORE_CHAT_JID=web:family", "LONGSHORE_GROUP_FOLDER=family", "LONGSHORE_IS_MAIN=0", "TZ=Europe/Berlin"}
	if diff := cmp.Diff(want, got[3:]); diff != "" {
		t.Errorf("environment, want -, got +:\n%s", diff)
	}
}
