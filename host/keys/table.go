package keys

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// form is a provider's way to write an error.
type form int

const (
	anthropic form = iota
	openAI
	google
)

// call is one that the table allows.
type call struct {
	form     form
	method   string
	path     string // behind the upstream's own
	query    string
	upstream Upstream
	answers  bool // an answer is created, as against counted or listed
}

// authorize adds the operator's key in the provider's header.
func (c call) authorize(h http.Header, key string) {
	switch c.form {
	case anthropic:
		h.Set("X-Api-Key", key)
	case openAI:
		h.Set("Authorization", "Bearer "+key)
	case google:
		h.Set("X-Goog-Api-Key", key)
	}
}

// row is a method and the paths that it may have. /anthropic, /openai/v1 and
// /google are what the addresses of the upstreams stand for.
type row struct {
	form    form
	method  string
	path    *regexp.Regexp
	answers bool
}

var table = []row{
	{anthropic, http.MethodPost, regexp.MustCompile(`^/anthropic(/v1/messages)$`), true},
	{anthropic, http.MethodPost, regexp.MustCompile(`^/anthropic(/v1/messages/count_tokens)$`), false},
	{anthropic, http.MethodGet, regexp.MustCompile(`^/anthropic(/v1/models)$`), false},
	{openAI, http.MethodPost, regexp.MustCompile(`^/openai/v1(/responses|/chat/completions)$`), true},
	{openAI, http.MethodPost, regexp.MustCompile(`^/openai/v1(/responses/input_tokens)$`), false},
	{openAI, http.MethodGet, regexp.MustCompile(`^/openai/v1(/models)$`), false},
	{google, http.MethodPost, regexp.MustCompile(`^/google(/v1(?:beta)?/models/[a-z0-9][a-z0-9.-]{0,99}:(?:generateContent|streamGenerateContent))$`), true},
	{google, http.MethodPost, regexp.MustCompile(`^/google(/v1(?:beta)?/models/[a-z0-9][a-z0-9.-]{0,99}:countTokens)$`), false},
	{google, http.MethodGet, regexp.MustCompile(`^/google(/v1(?:beta)?/models)$`), false},
}

// parameters are those of a query that pass. Others, such as key, are dropped.
var parameters = map[string]string{"alt": "sse", "beta": "true"}

// match finds the row of a call. The target is compared as it came, so that no
// escape and no dots have a second reading.
func match(r *http.Request, set Settings) (call, *refusal) {
	c := call{method: r.Method}
	target, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case strings.HasPrefix(target, "/openai/"):
		c.form, c.upstream = openAI, set.OpenAI
	case strings.HasPrefix(target, "/google/"):
		c.form, c.upstream = google, set.Google
	default:
		c.upstream = set.Anthropic
	}
	if r.Header.Get("Upgrade") != "" {
		return c, &refusal{http.StatusBadRequest, "a connection cannot be upgraded here"}
	}
	for _, row := range table {
		found := row.path.FindStringSubmatch(target)
		if found == nil || row.method != r.Method {
			continue
		}
		if c.upstream.URL == nil || c.upstream.Key == "" {
			return c, &refusal{http.StatusForbidden, "the operator has no key for this service"}
		}
		c.path, c.query, c.answers = found[1], query(r.URL.Query()), row.answers
		return c, nil
	}
	return c, &refusal{http.StatusForbidden, "the host passes on only calls that create an answer, count tokens or list models"}
}

func query(all url.Values) string {
	kept := url.Values{}
	for name, value := range parameters {
		if all.Get(name) == value {
			kept.Set(name, value)
		}
	}
	return kept.Encode()
}

// refusal is an answer of the proxy's own.
type refusal struct {
	status  int
	message string
}

// write writes it as the provider writes its errors.
func (r *refusal) write(w http.ResponseWriter, f form) {
	message := "Longshore: " + r.message
	kind, status := "invalid_request_error", "INVALID_ARGUMENT"
	switch {
	case r.status == http.StatusTooManyRequests:
		kind, status = "rate_limit_error", "RESOURCE_EXHAUSTED"
		w.Header().Set("Retry-After", "5")
	case r.status == http.StatusForbidden:
		kind, status = "permission_error", "PERMISSION_DENIED"
	case r.status >= 500:
		kind, status = "api_error", "UNAVAILABLE"
	}
	var doc any
	switch f {
	case anthropic:
		doc = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
	case openAI:
		doc = map[string]any{"error": map[string]any{"type": kind, "message": message, "code": nil, "param": nil}}
	case google:
		doc = map[string]any{"error": map[string]any{"code": r.status, "message": message, "status": status}}
	}
	body, _ := json.Marshal(doc) // strings and numbers: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(body)
}
