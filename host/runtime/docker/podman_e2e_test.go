//go:build e2e

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestSameOnPodman runs the tests of a container's life and of what it can
// reach once more on Podman.
func TestSameOnPodman(t *testing.T) {
	containertest.OnPodman(t,
		"TestSessionSpeaksAndEnds", "TestWhatEndsAnAssistantIsTold", "TestForksAreBounded", "TestFloodsAreBounded",
		"TestStopEndsWhatDoesNotListen", "TestStopWithoutPatience", "TestStartIsClear", "TestNothingOutlivesItsHost",
		"TestOneContainerPerGroup", "TestHomeIsKeptWhereTheRuntimeSays", "TestHomeInMemoryBelongsToTheAssistant",
		"TestContainerSeesItsMountsWithTheirModes", "TestContainerCanWriteOnlyWhatItMay", "TestContainerHasNoRights",
		"TestContainerCannotReachOut", "TestRootInContainerIsHeldByItsMounts", "TestShadowsHideWhatTheyHide",
		"TestSecretsAreInNoConfiguration", "TestUserNamespaceLeadsNowhere", "TestLimitThatIsTooLowIsTold")
}

// TestUserNamespaceLeadsNowhere does what an assistant can do as root of a user
// namespace of its own, where the engine lets it have one, as Podman does: it
// may mount for itself alone, and nothing of the host's or of the results
// changes by that.
func TestUserNamespaceLeadsNowhere(t *testing.T) {
	w := newWorld(t)
	result := filepath.Join(w.layout.IPC("family", "results"), "r.json")
	w.write(result, "kept", 0o644)
	answer := w.ask(`cat >/tmp/inside <<'END'
	try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "REACHED $name"; fi; }
	try remount mount -o remount,rw,bind /workspace/ipc/results
	try forge sh -c 'echo forged >/workspace/ipc/results/r.json'
	try system sh -c ': >/etc/probe'
	try uncover umount /workspace/ipc/results
	try rootfs mount -o remount,rw /
	try mask umount /proc/kcore
	try sysctl sh -c 'echo 1 >/proc/sys/kernel/panic'
	try disk sh -c 'mknod /tmp/disk b 8 0 && head -c 1 /tmp/disk'
	try cgroup sh -c 'mount -t cgroup2 none /mnt || mount -t cgroup -o memory none /mnt'
	try proc mount -t proc proc /mnt
	id -u
END
	unshare -r -m sh /tmp/inside 2>/dev/null; echo done`)
	want := "done|"
	if w.onPodman() {
		want = "0|done|"
	}
	if answer != want {
		t.Errorf("as root of its own user namespace a container reached what it must not: %s", answer)
	}
	if got, _ := os.ReadFile(result); string(got) != "kept" {
		t.Errorf("the result became %q", got)
	}
}

// TestLimitThatIsTooLowIsTold gives a container less memory than its first
// process needs, which Docker refuses at once and Podman where it prepares the
// container.
func TestLimitThatIsTooLowIsTold(t *testing.T) {
	w := newWorld(t)
	w.runtime.Memory = 1 << 20
	s, err := w.runtime.Start(t.Context(), w.spec("true"))
	if err == nil {
		s.Stop(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "emory") {
		t.Errorf("start with 1 MiB: %v, want what is wrong with the memory", err)
	}
}
