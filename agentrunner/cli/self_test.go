package cli

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProgramKnowsHowToStartItselfAgain(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Args
	defer func() { os.Args = was }()
	for name, test := range map[string]struct{ all, own, want []string }{
		"as agentrunner":      {[]string{"agentrunner", "run"}, []string{"run"}, []string{path}},
		"as longshore":        {[]string{"longshore", "agentrunner", "run", "--agent", "sample"}, []string{"run", "--agent", "sample"}, []string{path, "agentrunner"}},
		"called from a test":  {[]string{"cli.test", "-test.v"}, []string{"run"}, []string{path}},
		"with more arguments": {[]string{"x"}, []string{"run", "--agent", "sample"}, []string{path}},
	} {
		os.Args = test.all
		got, err := (&call{args: test.own}).self()
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, err)
		}
	}
	t.Setenv("LONGSHORE_AGENTRUNNER", `["/bin/other","act"]`)
	if got, err := (&call{}).self(); err != nil || !cmp.Equal(got, []string{"/bin/other", "act"}) {
		t.Errorf("by the environment: %q, %v", got, err)
	}
	t.Setenv("LONGSHORE_AGENTRUNNER", "/bin/other")
	if _, err := (&call{}).self(); err == nil {
		t.Error("a value that is no list was taken")
	}
}
