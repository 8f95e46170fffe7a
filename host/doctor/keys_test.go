package doctor

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func TestDoctorSaysWhereTheModelsKeyIs(t *testing.T) {
	env := map[string]config.Secret{"OPENAI_API_KEY": {}}
	c := &config.Config{
		Assistants: map[string]config.Assistant{
			"home": {Runtime: "docker", Keys: "proxy", Env: env}, "out": {Runtime: "docker", Keys: "inside", Env: env},
			"none": {Runtime: "docker", Keys: "inside"}, "child": {Runtime: "process", Keys: "inside", Env: env},
			"there": {Runtime: "ssh", Keys: "inside", Env: env}, "tight": {Runtime: "ssh", Keys: "proxy", Env: env},
		},
	}
	for name := range c.Assistants {
		c.Groups = append(c.Groups, groups.Group{Folder: name, Assistant: name})
	}
	found := Doctor{Config: c}.keys(t.Context())
	if len(found) != 4 || found[2].Severity != finding.Note || !strings.Contains(found[2].Cause, "the machine of assistant there gets") || found[3].Severity != finding.Fine || found[0].Severity != finding.Fine || !strings.Contains(found[0].Cause, "home") ||
		found[1].Severity != finding.Note || !strings.Contains(found[1].Cause, "out") || !strings.Contains(found[1].Remedy, "keys: proxy") {
		t.Errorf("%+v", found)
	}
}
