package driver

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// statusIn finds the HTTP status in the words of a CLI, such as "unexpected status
// 401 Unauthorized", "API Error: 402 payment required" and "failed with status 429".
var statusIn = regexp.MustCompile(`(?i)(?:status|status code|API Error|"code")[:= ]{1,3}([45][0-9]{2})\b`)

// telltales are words by which a failure is recognised, in lower case and in the
// order in which they count. The services and the CLIs wrote all of them; a status
// alone does not tell a used-up quota from a busy service.
func telltales() []telltale {
	return []telltale{
		{cause.Credit, []string{"credit balance", "credits are depleted", "quota exceeded", "exceeded your current quota", "insufficient_quota", "payment required",
			"exhausted your daily quota", "usage limit", "billing"}},
		{cause.Key, []string{"api key not valid", "invalid api key", "invalid x-api-key", "incorrect api key", "api key is missing", "authentication", "unauthorized",
			"not logged in", "please run /login", "auth method"}},
		{cause.Busy, []string{"rate limit", "rate_limit", "too many requests", "overloaded", "at capacity", "high demand", "resource_exhausted", "unavailable"}},
		{cause.Failing, []string{"internal server error", "server_error"}},
		{cause.Silent, []string{"timed out", "timeout"}},
		{cause.Unreachable, []string{"cannot be reached", "stream disconnected", "network error", "connection", "econnrefused", "econnreset", "enotfound", "fetch failed",
			"socket", "terminated", "unable to connect", "error sending request", "reconnecting"}},
	}
}

type telltale struct {
	cause cause.Cause
	words []string
}

// causeOf returns the cause of a failure that a CLI describes with an HTTP status,
// with words, or with both. A status of 0 is unknown.
func causeOf(status int, words string) cause.Cause {
	if m := statusIn.FindStringSubmatch(words); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return cause.Key
	}
	words = strings.ToLower(words)
	for _, t := range telltales() {
		for _, word := range t.words {
			if strings.Contains(words, word) {
				return t.cause
			}
		}
	}
	return cmp.Or(ofStatus(status), cause.Failed)
}

func ofStatus(status int) cause.Cause {
	switch {
	case status == http.StatusPaymentRequired:
		return cause.Credit
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		return cause.Busy
	case status >= 500:
		return cause.Failing
	}
	return ""
}
