package keys

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// form is how a provider reads calls and writes answers and errors.
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
	answers  bool   // an answer is created, as against counted or listed
	raw      bool   // the body passes unread
	model    string // that the body or the path names
	thinks   bool   // the answer may hide part of its output
	asked    string // what the operator would have to allow for it; empty: nothing
}

// authorize adds the operator's key in the provider's header.
func (c call) authorize(h http.Header) {
	value := c.upstream.Secret
	if c.upstream.Scheme != "" {
		value = c.upstream.Scheme + " " + value
	}
	h.Set(c.upstream.Header, value)
}

// row is a method and the paths behind a provider's prefix that it may have.
type row struct {
	method  string
	path    *regexp.Regexp
	answers bool
	raw     bool // the body is a file and its name, and passes unread
}

// tables are the calls that create an answer, count tokens, or list models.
var tables = map[form][]row{
	anthropic: {
		{http.MethodPost, regexp.MustCompile(`^/v1/messages$`), true, false},
		{http.MethodPost, regexp.MustCompile(`^/v1/messages/count_tokens$`), false, false},
		{http.MethodGet, regexp.MustCompile(`^/v1/models$`), false, false},
	},
	openAI: {
		{http.MethodPost, regexp.MustCompile(`^(/responses|/chat/completions)$`), true, false},
		{http.MethodPost, regexp.MustCompile(`^/responses/input_tokens$`), false, false},
		{http.MethodGet, regexp.MustCompile(`^/models$`), false, false},
	},
	google: {
		{http.MethodPost, regexp.MustCompile(`^/v1(?:beta)?/models/[a-z0-9][a-z0-9.-]{0,99}:(?:generateContent|streamGenerateContent)$`), true, false},
		{http.MethodPost, regexp.MustCompile(`^/v1(?:beta)?/models/[a-z0-9][a-z0-9.-]{0,99}:countTokens$`), false, false},
		{http.MethodGet, regexp.MustCompile(`^/v1(?:beta)?/models$`), false, false},
	},
}

// ownTables are further calls of a group whose key is its own: files and stored answers.
// They are compiled for the first such group.
var ownTables = sync.OnceValue(func() map[form][]row {
	return map[form][]row{
		anthropic: filesBelow("/v1/files"),
		openAI: append(filesBelow("/files"),
			row{method: http.MethodGet, path: regexp.MustCompile(`^/responses/[A-Za-z0-9_-]{1,128}(?:/input_items)?$`)},
			row{method: http.MethodDelete, path: regexp.MustCompile(`^/responses/[A-Za-z0-9_-]{1,128}$`)},
		),
	}
})

func filesBelow(path string) []row {
	one := "^" + path + "/[A-Za-z0-9_-]{1,128}"
	return []row{
		{method: http.MethodPost, path: regexp.MustCompile("^" + path + "$"), raw: true},
		{method: http.MethodGet, path: regexp.MustCompile("^" + path + "$")},
		{method: http.MethodGet, path: regexp.MustCompile(one + "(?:/content)?$")},
		{method: http.MethodDelete, path: regexp.MustCompile(one + "$")},
	}
}

// rows are the upstream's calls: its own, or those of its form.
func (u Upstream) rows(own bool) []row {
	if own && u.Calls == nil {
		return append(slices.Clone(tables[u.form]), ownTables()[u.form]...)
	}
	if u.Calls != nil {
		return u.Calls
	}
	return tables[u.form]
}

// parameters are those of a query that pass. Others, such as key, are dropped.
var parameters = map[string]string{"alt": "sse", "beta": "true"}

// match finds the row of a call. The target is compared as it came, so that no
// escape and no dots have a second reading.
func match(w http.ResponseWriter, r *http.Request, set Settings) (call, *refusal) {
	c := call{method: r.Method, form: formOf(r.RequestURI)}
	target, _, _ := strings.Cut(r.RequestURI, "?")
	if r.Header.Get("Upgrade") != "" {
		return c, &refusal{http.StatusBadRequest, "a connection cannot be upgraded here"}
	}
	for _, u := range set.Upstreams {
		rest, ok := strings.CutPrefix(target, u.Prefix)
		if !ok || !strings.HasPrefix(rest, "/") {
			continue
		}
		c.form, c.upstream = u.form, u
		var methods []string
		for _, row := range u.rows(set.Own) {
			if !row.path.MatchString(rest) {
				continue
			}
			if methods = append(methods, row.method); row.method == r.Method {
				c.path, c.query, c.answers, c.raw = rest, query(r.URL.Query(), set.Own), row.answers, row.raw
				return c, nil
			}
		}
		if methods != nil {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			return c, &refusal{http.StatusMethodNotAllowed, "this call is made by another method"}
		}
		return c, &refusal{http.StatusForbidden, "the host passes on only calls that create an answer, count tokens or list models"}
	}
	return c, &refusal{http.StatusForbidden, "the operator has no key for this service"}
}

// formOf is that of a service without a key.
func formOf(target string) form {
	for _, p := range Known() {
		if strings.HasPrefix(target, p.Prefix+"/") {
			return p.form
		}
	}
	return anthropic
}

// ofLists are the parameters by which lists of stored things are read.
var ofLists = []string{"limit", "order", "purpose", "after", "after_id", "before_id"}

var listValue = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func query(all url.Values, own bool) string {
	kept := url.Values{}
	for _, name := range ofLists {
		if value := all.Get(name); own && listValue.MatchString(value) {
			kept.Set(name, value)
		}
	}
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
	case r.status == http.StatusPaymentRequired:
		r.status, kind, status = http.StatusTooManyRequests, "insufficient_quota", "RESOURCE_EXHAUSTED"
		if f == anthropic { // which its CLI repeats after a status of 429
			r.status, kind = http.StatusBadRequest, "invalid_request_error"
		}
	case r.status == http.StatusTooManyRequests:
		kind, status = "rate_limit_error", "RESOURCE_EXHAUSTED"
		w.Header().Set("Retry-After", "5")
	case r.status == http.StatusUnauthorized:
		kind, status = "authentication_error", "UNAUTHENTICATED"
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
		doc = map[string]any{"error": map[string]any{"type": kind, "message": message, "code": code(kind), "param": nil}}
	case google:
		doc = map[string]any{"error": map[string]any{"code": r.status, "message": message, "status": status}}
	}
	httpd.Answer(w, r.status, doc)
}

// code is OpenAI's for an error, by which CLIs tell a quota from a rate.
func code(kind string) any {
	if kind == "insufficient_quota" {
		return kind
	}
	return nil
}
