package keys

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Provider is a service of models: how an assistant finds it, and how the host calls it.
type Provider struct {
	Key     string // variable of the assistant's environment that has the key
	Address string // variable that has the service's address
	Usual   string // the address without that variable
	Prefix  string // of the paths that the assistant uses
	Header  string // that the key is sent in
	Scheme  string // before the key, such as Bearer; may be empty
	Calls   []row  // nil: those of its form

	form form
}

// Upstream is a provider with the operator's key.
type Upstream struct {
	Provider
	URL    *url.URL
	Secret string
}

// Known are the providers that every assistant may use whose environment has a key.
func Known() []Provider {
	const claude, gemini = "https://api.anthropic.com", "https://generativelanguage.googleapis.com"
	return []Provider{
		{Key: "ANTHROPIC_API_KEY", Address: "ANTHROPIC_BASE_URL", Usual: claude, Prefix: "/anthropic", Header: "X-Api-Key", form: anthropic},
		{Key: "ANTHROPIC_AUTH_TOKEN", Address: "ANTHROPIC_BASE_URL", Usual: claude, Prefix: "/anthropic", Header: "Authorization", Scheme: "Bearer", form: anthropic},
		{Key: "OPENAI_API_KEY", Address: "OPENAI_BASE_URL", Usual: "https://api.openai.com/v1", Prefix: "/openai/v1", Header: "Authorization", Scheme: "Bearer", form: openAI},
		{Key: "GEMINI_API_KEY", Address: "GOOGLE_GEMINI_BASE_URL", Usual: gemini, Prefix: "/google", Header: "X-Goog-Api-Key", form: google},
	}
}

// Custom returns a provider that the operator has described, whose paths begin with its
// name. form is anthropic, openai or google. A call is a method and a path, such as
// "POST /chat/completions"; a * in the path stands for letters, digits and . _ -. A POST
// creates an answer.
func Custom(name, form string, calls []string) (p Provider, err error) {
	p.Prefix = "/providers/" + name
	switch form {
	case "anthropic":
		p.form = anthropic
	case "google":
		p.form = google
	default:
		p.form = openAI
	}
	for _, text := range calls {
		one, err := parseCall(text)
		if err != nil {
			return p, fmt.Errorf("%q %w", text, err)
		}
		p.Calls = append(p.Calls, one)
	}
	return p, nil
}

var (
	callForm = regexp.MustCompile(`^(GET|POST) ((?:/[A-Za-z0-9*][A-Za-z0-9*._:-]*)+)$`)
	counts   = regexp.MustCompile(`(/count_tokens|/input_tokens|:countTokens)$`)
)

func parseCall(text string) (row, error) {
	found := callForm.FindStringSubmatch(text)
	if found == nil {
		return row{}, errors.New("is no call: write GET or POST, and a path of letters, digits and . _ : - *")
	}
	path := strings.ReplaceAll(regexp.QuoteMeta(found[2]), `\*`, `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`)
	return row{
		method: found[1], path: regexp.MustCompile("^" + path + "$"),
		answers: found[1] == http.MethodPost && !counts.MatchString(found[2]),
	}, nil
}

// headerForm is what a header that carries a key may be called.
var headerForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)

// CheckHeader says what is wrong with a header that is to carry a key.
func CheckHeader(name, scheme string) error {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te":
		return errors.New("cannot carry a key")
	}
	if !headerForm.MatchString(name) {
		return errors.New("is no name of a header")
	}
	if scheme != "" && !headerForm.MatchString(scheme) {
		return fmt.Errorf("has the scheme %q, which is no word", scheme)
	}
	return nil
}
