package keys

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

const (
	bytesPerToken = 3        // of text, at least
	dataPerToken  = 64       // bytes of base64 of pictures and documents
	usualOutput   = 16 << 10 // tokens of an answer whose call names no limit
	maxOutput     = 1 << 21
	longData      = 1 << 10 // bytes from which a text may be base64
)

// estimate is what a call uses at most, as far as its body tells. It is an estimate for
// the input: only the service knows its tokens.
func estimate(doc map[string]any) Usage {
	text, data := weigh(doc)
	return Usage{Input: 1 + text/bytesPerToken + data/dataPerToken, Output: outputLimit(doc)}
}

// weigh counts bytes of text, and of data.
func weigh(v any) (text, data int64) {
	add := func(v any) {
		t, d := weigh(v)
		text, data = text+t, data+d
	}
	switch v := v.(type) {
	case string:
		if len(v) >= longData && isData(v) {
			return 0, int64(len(v))
		}
		return int64(len(v)) + 1, 0
	case []any:
		for _, one := range v {
			add(one)
		}
	case map[string]any:
		for key, one := range v {
			text += int64(len(key)) + 1
			add(one)
		}
	default:
		text = 4
	}
	return text, data
}

// isData recognises base64, and a data: address. A text has a space somewhere.
func isData(s string) bool {
	if strings.HasPrefix(s, "data:") {
		return true
	}
	return !strings.ContainsFunc(s[:longData], func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+/=-_\r\n", r))
	})
}

// outputLimit is how many tokens the answer may have.
func outputLimit(doc map[string]any) int64 {
	most, answers := int64(0), int64(1)
	blocks := []any{doc, doc["generationConfig"], doc["generation_config"]}
	for _, block := range blocks {
		from, ok := block.(map[string]any)
		if !ok {
			continue
		}
		for _, key := range []string{"max_tokens", "max_output_tokens", "max_completion_tokens", "maxOutputTokens"} {
			most = max(most, whole(from[key]))
		}
		for _, key := range []string{"n", "candidateCount", "candidate_count"} {
			answers = max(answers, whole(from[key]))
		}
	}
	if most == 0 {
		most = usualOutput
	}
	return min(most*min(answers, 128), maxOutput)
}

// whole is a number of tokens or answers, however it is written; 0 if it is none.
func whole(v any) int64 {
	n, _ := v.(json.Number)
	f, err := n.Float64()
	switch {
	case errors.Is(err, strconv.ErrRange) && f > 0 || err == nil && f > maxOutput:
		return maxOutput
	case err != nil || f < 0:
		return 0
	}
	return int64(math.Ceil(f))
}
