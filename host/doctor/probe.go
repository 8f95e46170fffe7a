package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// probeTime bounds one call to a provider.
const probeTime = 15 * time.Second

// provider is a service with models, as its API's reference describes listing them:
// https://docs.anthropic.com/en/api/models-list,
// https://platform.openai.com/docs/api-reference/models/list,
// https://ai.google.dev/api/models.
type provider struct {
	name    string
	agents  []string     // that use it
	keys    []credential // the first one that is set counts
	baseEnv string       // the variable that names another address
	base    string
	models  string // path of the list, below the address
	version string // a header that the provider wants, "name: value"; empty: none
	ids     string // what the id of a model begins with; another name is the CLI's own and is not asked for
}

// credential is a variable with a key, and the header that carries the key.
type credential struct{ variable, header, scheme string }

var providers = []provider{
	{
		name: "Anthropic", agents: []string{"claude", "opencode"},
		keys:    []credential{{"ANTHROPIC_API_KEY", "X-Api-Key", ""}, {"ANTHROPIC_AUTH_TOKEN", "Authorization", "Bearer "}},
		baseEnv: "ANTHROPIC_BASE_URL", base: "https://api.anthropic.com", models: "/v1/models", version: "Anthropic-Version: 2023-06-01", ids: "claude-",
	},
	{
		name: "OpenAI", agents: []string{"codex", "opencode"},
		keys:    []credential{{"CODEX_API_KEY", "Authorization", "Bearer "}, {"OPENAI_API_KEY", "Authorization", "Bearer "}},
		baseEnv: "OPENAI_BASE_URL", base: "https://api.openai.com/v1", models: "/models",
	},
	{
		name: "Google", agents: []string{"gemini", "opencode"},
		keys:    []credential{{"GEMINI_API_KEY", "X-Goog-Api-Key", ""}},
		baseEnv: "GOOGLE_GEMINI_BASE_URL", base: "https://generativelanguage.googleapis.com", models: "/v1beta/models", ids: "gemini",
	},
}

// Probe asks the service of an assistant's model whether it takes the assistant's key, and
// has its model, if LONGSHORE_MODEL names one. It costs nothing: it asks for the list of
// models. It goes out from this machine, not from the assistant's container. name is the
// assistant's.
func Probe(ctx context.Context, name string, a config.Assistant) finding.Finding {
	f := finding.Finding{Name: finding.Untried, Part: "assistant " + name, Severity: finding.Note, Remedy: "give assistants." + name + " its key in env, if it needs one"}
	for _, p := range providers {
		for _, k := range p.keys {
			key, set := a.Env[k.variable]
			if !set || !slices.Contains(p.agents, a.Agent) {
				continue
			}
			if key.Reveal() == "" {
				f.Cause = fmt.Sprintf("assistant %s: %s is not set here, so its key was not tried", name, k.variable)
				f.Remedy = "run the command with the host's environment"
				return f
			}
			return p.probe(ctx, name, a, k, key.Reveal())
		}
	}
	f.Cause = fmt.Sprintf("assistant %s: no key that can be tried stands in its env", name)
	return f
}

func (p provider) probe(ctx context.Context, name string, a config.Assistant, k credential, key string) finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	f := finding.Well("assistant "+name, fmt.Sprintf("assistant %s: %s takes its key", name, p.name))
	base := strings.TrimRight(cmp.Or(a.Env[p.baseEnv].Reveal(), p.base), "/")
	status, list, err := p.get(ctx, base+p.models, k, key)
	if err == nil && status == http.StatusOK {
		if model := p.model(a); model != "" {
			status, _, err = p.get(ctx, base+p.models+"/"+url.PathEscape(model), k, key)
			if err == nil && status == http.StatusNotFound && lists(list, model) {
				status = http.StatusOK // many servers of an operator's own have the list only
			}
			f.Cause += ", and has the model " + model
			if err == nil && status == http.StatusNotFound {
				f.Name, f.Severity, f.Cause = finding.Model, finding.Fault, fmt.Sprintf("assistant %s: %s has no model %s for this key", name, p.name, model)
				f.Remedy = fmt.Sprintf("put a model that it has into LONGSHORE_MODEL of assistants.%s, then: longshore reload", name)
				return f
			}
		}
	}
	switch {
	case err != nil:
		f.Name, f.Severity, f.Cause = finding.Untried, finding.Warning, fmt.Sprintf("assistant %s: %s cannot be reached: %v", name, p.name, err)
		f.Remedy = "check this machine's network; the assistant's container may have another way out"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Name, f.Severity, f.Cause = string(cause.Key), finding.Fault, fmt.Sprintf("assistant %s: %s refuses its key (%s, status %d)", name, p.name, k.variable, status)
		f.Remedy = fmt.Sprintf("give assistants.%s a key that the service accepts, then: longshore reload", name)
	case status != http.StatusOK:
		f.Name, f.Severity, f.Cause = finding.Untried, finding.Warning, fmt.Sprintf("assistant %s: %s answers with status %d, which says nothing about its key", name, p.name, status)
		f.Remedy = "try again later, and see the service's status page"
	}
	return f
}

// model is the model to ask for, or empty.
func (p provider) model(a config.Assistant) string {
	model := a.Env["LONGSHORE_MODEL"].Reveal()
	if i := strings.LastIndex(model, "/"); a.Agent == "opencode" && i >= 0 { // provider/model
		model = model[i+1:]
	}
	if !strings.HasPrefix(model, p.ids) {
		return ""
	}
	return model
}

// lists says whether a list of models, as OpenAI's and Anthropic's APIs have it, has one.
func lists(list []byte, model string) bool {
	var all struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(list, &all) != nil {
		return false
	}
	for _, m := range all.Data {
		if m.ID == model {
			return true
		}
	}
	return false
}

// get returns the status of an answer and the answer. It follows no redirect: the key is for this service.
func (p provider) get(ctx context.Context, address string, k credential, key string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, errors.New("its address is no URL")
	}
	req.Header.Set(k.header, k.scheme+key)
	if name, value, ok := strings.Cut(p.version, ": "); ok {
		req.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, fmt.Errorf("no answer within %v", probeTime)
		}
		return 0, nil, errors.Unwrap(err) // without the address, in which an operator may have written a secret
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, err
}
