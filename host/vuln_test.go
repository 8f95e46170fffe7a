package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A check that could not be made must not pass for one that found nothing.
func TestMakeVulnSaysThatItsDatabaseIsOutOfReach(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "../.ci/vuln")
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOVULNDB=file:///nowhere")
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(said), "NOT CHECKED: ") || strings.Contains(string(said), "No vulnerabilities") {
		t.Errorf("%v, said %s", err, said)
	}
}
