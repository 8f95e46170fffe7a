package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/doctor"
)

const limitsEnv = "LONGSHORE_TEST_LIMITS"

// TestALimitOfTheProcessWasNamedByWhatFailedForIt, such as a database that could not be opened.
func TestALimitOfTheProcessWasNamedByWhatFailedForIt(t *testing.T) {
	if os.Getenv(limitsEnv) != "" {
		for _, f := range (doctor.Doctor{}).Machine(t.Context()) {
			fmt.Printf("%s of %s: %s: %s\n", f.Name, f.Part, f.Cause, f.Remedy)
		}
		return
	}
	program, err := os.Executable() // /proc/self is the shell's
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string][]string{
		"ulimit -n 24":   {"files_few of limits: this process may open 24 files, and a host needs at least 64: raise LimitNOFILE"},
		"ulimit -f 100":  {"file_limit of limits: this process may write files of up to ", "for its database: raise LimitFSIZE"},
		"ulimit -n 1024": nil,
	} {
		command := exec.CommandContext(t.Context(), "sh", "-c", set+` && exec "$0" -test.run='^TestALimitOfTheProcessWasNamedByWhatFailedForIt$'`, program)
		command.Env = append(os.Environ(), limitsEnv+"=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", set, err, out)
		}
		for _, words := range want {
			if !strings.Contains(string(out), words) {
				t.Errorf("%s: it lacks %q: %s", set, words, out)
			}
		}
		if want == nil && strings.Contains(string(out), " of limits") {
			t.Errorf("%s: %s", set, out)
		}
	}
}
