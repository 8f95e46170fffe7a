package keys

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	usualOutput = 16 << 10 // tokens of an answer whose call names no limit
	maxOutput   = 1 << 21

	maxWord     = 64   // bytes without a space that count as words
	leastOfFile = 1600 // tokens of a picture or document, however small
)

// estimate is what a call uses at most, as far as its body tells. It is an estimate for
// the input: only the service knows its tokens.
func (r rules) estimate(doc map[string]any, f form) Usage {
	w := weight{rules: r, form: f}
	w.add(doc, "", false)
	return Usage{Input: 1 + w.thirds/3 + w.files, Output: outputLimit(doc)}
}

// weight is what a body holds.
type weight struct {
	rules  rules
	form   form
	thirds int64 // of tokens of text
	files  int64 // tokens of pictures, documents and sounds
}

// add weighs a value. under is the key above it. In what is opaque, all is text.
func (w *weight) add(v any, under string, opaque bool) {
	switch v := v.(type) {
	case string:
		w.text(v)
	case []any:
		for _, one := range v {
			w.add(one, under, opaque)
		}
	case map[string]any:
		for key, one := range v {
			w.thirds += int64(len(key)) + 1
			text, isText := one.(string)
			if kind, data, ok := declared(w.form, v, under, key, text); isText && ok && !opaque {
				w.file(kind, data)
				continue
			}
			w.add(one, key, opaque || slices.Contains(w.rules.opaque, key))
		}
	default:
		w.thirds += 4
	}
}

// text weighs a text: three bytes of prose are a token at least. Letters without a space in
// between, such as base64, may be as many tokens as bytes, and those beyond ASCII two for each three.
func (w *weight) text(s string) {
	run := 0
	end := func() {
		if w.thirds += int64(run); run > maxWord {
			w.thirds += 2 * int64(run)
		}
		run = 0
	}
	for i := range len(s) {
		switch b := s[i]; {
		case b >= utf8.RuneSelf:
			end()
			w.thirds += 2
		case b <= ' ':
			end()
			w.thirds++
		default:
			run++
		}
	}
	end()
	w.thirds++
}

// file weighs what a part declares as data in base64, by its MIME type.
func (w *weight) file(kind, data string) {
	perToken := int64(0) // bytes of base64
	switch major, _, _ := strings.Cut(kind, "/"); {
	case major == "image":
		perToken = 64
	case major == "audio", major == "video", kind == "application/pdf":
		perToken = 16
	default: // a text, whatever its type
		if plain, err := base64.StdEncoding.DecodeString(data); err == nil {
			data = string(plain)
		}
		w.text(data)
		return
	}
	w.files += max(int64(len(data))/perToken, leastOfFile)
}

// declared says whether the text at a key of a part is data in base64 by the provider's form, and of
// which MIME type. under is the key above the part.
func declared(f form, part map[string]any, under, key, text string) (kind, data string, ok bool) {
	named := func(keys ...string) (kind string) {
		for _, key := range keys {
			if s, isText := part[key].(string); isText {
				kind = s
			}
		}
		return kind
	}
	switch {
	case f == anthropic:
		return named("media_type"), text, under == "source" && key == "data" && part["type"] == "base64"
	case f == google:
		return named("mimeType", "mime_type"), text, (under == "inlineData" || under == "inline_data") && key == "data"
	case under == "input_audio":
		return "audio/" + named("format"), text, key == "data"
	}
	links := []string{"image_url", "video_url", "audio_url"}
	if !slices.Contains(links, key) && key != "file_data" && !(key == "url" && slices.Contains(links, under)) {
		return "", "", false
	}
	head, data, ok := strings.Cut(text, ";base64,")
	kind, isData := strings.CutPrefix(head, "data:")
	return kind, data, ok && isData
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
	most = cmp.Or(most, usualOutput)
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
