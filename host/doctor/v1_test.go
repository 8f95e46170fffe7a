package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// In NanoClaw v1's layout the agent's user owns its whole queue directory, and
// the doctor must not send the operator to change that.
func TestDoctorFindsAV1QueueWell(t *testing.T) {
	p := newPatient(t)
	root := filepath.Join(filepath.Dir(p.Layout.State), "nanoclaw")
	p.must(os.Mkdir(root, 0o700))
	p.Layout = groups.Layout{State: root, Project: root, V1: true}
	p.must(p.Layout.Prepare(p.Groups))
	for _, f := range p.ask(t.Context()) {
		if f.Name == finding.Queue && f.Severity != finding.Fine {
			t.Errorf("%+v", f)
		}
	}
}
