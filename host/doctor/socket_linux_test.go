package doctor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// TestARunningHostWithoutASocketWasToBeKilled: something else was in the socket's place. The doctor said
// that no host runs, that its process hangs, and that its addresses are another program's.
func TestARunningHostWithoutASocketWasToBeKilled(t *testing.T) {
	p := newPatient(t)
	p.must(os.WriteFile(filepath.Join(p.Layout.Own(), operator.SocketName), nil, 0o600))
	if f := doctor.Unasked(p.Layout, operator.ErrNoHost); f.Name != finding.Host {
		t.Errorf("without a host: %+v", f)
	}
	lock, err := store.Lock(p.Stores[0])
	p.must(err)
	defer lock.Close()
	if f := doctor.Unasked(p.Layout, operator.ErrNoHost); f.Name != finding.State {
		t.Errorf("a host holds the lock: %+v", f)
	}
}

// TestNoViewNamedTheProcessThatDoesNotAnswer, such as one that was stopped.
func TestNoViewNamedTheProcessThatDoesNotAnswer(t *testing.T) {
	p := newPatient(t)
	lock, err := store.Lock(p.Stores[0])
	p.must(err)
	defer lock.Close()
	pid := strconv.Itoa(os.Getpid())
	f := doctor.Unasked(p.Layout, operator.ErrSilent)
	if f.Name != finding.Silent || !strings.Contains(f.Cause, "process "+pid) || !strings.Contains(f.Remedy, "kill -9 "+pid+" and") {
		t.Errorf("%+v", f)
	}
}
