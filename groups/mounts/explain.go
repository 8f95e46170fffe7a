package mounts

import (
	"fmt"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Step is the outcome of one decision about a path.
type Step struct {
	Name  string `json:"name"` // path, mount, link, file, size
	OK    bool   `json:"ok"`
	Words string `json:"words"` // for the operator; may contain host paths
}

// Explain is Open and also reports each decision. If one failed, it is the last
// step. The steps are for the operator, never for the agent.
func (m *Map) Explain(p string) (*File, []Step, error) {
	var steps []Step
	file, err := m.open(p, func(step, format string, args ...any) {
		steps = append(steps, Step{Name: step, OK: true, Words: fmt.Sprintf(format, args...)})
	})
	if err == nil {
		return file, steps, nil
	}
	words := err.Error()
	if r := refusal.Of(err); r != nil {
		words = fmt.Sprintf("%s (%s): %s", r.Message, r.Code, r.Hint)
	}
	return nil, append(steps, Step{Name: failedStep(steps), Words: words}), err
}

// failedStep returns the name of the step after the successful ones.
func failedStep(done []Step) string {
	if len(done) == 0 {
		return "path"
	}
	switch done[len(done)-1].Name {
	case "path":
		return "mount"
	case "link":
		return "link"
	case "file":
		return "size"
	}
	return "file"
}
