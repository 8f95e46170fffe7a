package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// opencodeModel is the example of a model in questions and hints.
const opencodeModel = "anthropic/claude-sonnet-4-5"

// opencodeKeys are the variables that opencode reads, by provider: the providers whose key doctor.Probe
// can try. opencode knows more.
var opencodeKeys = map[string]cliKey{"anthropic": anthropicKey, "openai": openAIKey, "google": googleKey}

// opencodeKey returns the variables for the provider of the model. Behind --base-url, and behind the
// host's proxy for a container, opencode uses OpenAI's.
func (s *setupAgent) opencodeKey() cliKey {
	if s.plainModel() {
		return openAIKey
	}
	provider, _, _ := strings.Cut(s.model, "/")
	return opencodeKeys[provider]
}

// plainModel reports whether the model has no provider before its name, because our driver of opencode
// makes the provider.
func (s *setupAgent) plainModel() bool { return s.baseURL != "" || s.boxed }

// askOpencode asks for the model, whose provider decides which key opencode needs.
func (s *setup) askOpencode(ctx context.Context) error {
	form, example := "PROVIDER/MODEL, such as "+opencodeModel, opencodeModel
	if s.plainModel() {
		form, example = "its name at the service", "NAME"
	}
	model, err := s.Given(ctx, &s.model, "model ("+form+"): ")
	if err != nil {
		return err
	}
	again := "longshore setup --agent opencode --model " + example
	if s.boxed {
		again += " --container"
		model = strings.TrimPrefix(model, "openai/")
	}
	if model == "" {
		return terminal.Usage("opencode needs a model: "+form, again)
	}
	provider, name, slash := strings.Cut(model, "/")
	switch {
	case s.plainModel() && !slash:
		s.model = model
		return nil
	case s.plainModel() && s.baseURL == "":
		return terminal.Usage(fmt.Sprintf("in a container opencode speaks to an OpenAI address only, and %s is not there", model), again)
	case s.plainModel():
		return terminal.Usage(fmt.Sprintf("with --base-url the model is a plain name, and %s names a provider", model), again+" --base-url "+s.baseURL)
	case !slash || name == "":
		return terminal.Usage(fmt.Sprintf("%q does not say whose model it is", model), again)
	}
	if _, ok := opencodeKeys[provider]; !ok {
		return terminal.Usage(fmt.Sprintf("setup knows no provider %q of opencode", provider), "choose anthropic, openai or google; others go into longshore.yaml: docs/assistants.md")
	}
	s.model = model
	return nil
}
