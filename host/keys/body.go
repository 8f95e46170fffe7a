package keys

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// rules are what the body of a provider's calls may not hold.
type rules struct {
	refused []string // keys that name something stored or fetched, at any depth
	top     []string // keys that do so at the top
	opaque  []string // keys below which lie the assistant's own data and schemas
	stored  []string // of refused and top, those that a group with a key of its own may use
	own     bool     // it has one
}

// of returns the rules of a form for a group with, or without, a key of its own.
func of(f form, own bool) rules {
	r := rulesOf[f]
	if r.own = own; own {
		kept := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(key string) bool { return slices.Contains(r.stored, key) })
		}
		r.refused, r.top = kept(r.refused), kept(r.top)
	}
	return r
}

var rulesOf = map[form]rules{
	anthropic: {
		refused: []string{"file_id"}, top: []string{"container", "mcp_servers"},
		opaque: []string{"input", "input_schema", "metadata"},
		stored: []string{"file_id", "container"},
	},
	openAI: {
		refused: []string{"file_id", "file_url", "vector_store_ids"},
		top:     []string{"previous_response_id", "conversation", "background", "prompt", "web_search_options", "store"},
		opaque:  []string{"parameters", "schema", "metadata"},
		stored:  []string{"file_id", "vector_store_ids", "previous_response_id", "conversation", "prompt"},
	},
	google: {
		refused: []string{"fileData", "file_data"}, top: []string{"cachedContent", "cached_content"},
		opaque: []string{"args", "response", "parameters", "parametersJsonSchema", "parameters_json_schema", "responseSchema", "responseJsonSchema"},
	},
}

// maxMarks bounds what a body becomes in memory: many small values take far more
// than their text.
const maxMarks = 1 << 18

const noTools = "tools that the service runs are not allowed here; the operator may set provider_tools: true"

// marks counts what separates values, outside strings.
func marks(body []byte) (n int) {
	for i, inside := 0, false; i < len(body); i++ {
		switch b := body[i]; {
		case inside && b == '\\':
			i++
		case b == '"':
			inside = !inside
		case !inside && (b == ',' || b == ':' || b == '[' || b == '{'):
			n++
		}
	}
	return n
}

// ownNested looks at the tools of OpenAI's input, too: a conversation can bring some.
func ownNested(v any, r rules) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !ownNested(one, r) })
	case map[string]any:
		for key, value := range v {
			if key == "tools" && !ownTools(value, openAI) || !slices.Contains(r.opaque, key) && !ownNested(value, r) {
				return false
			}
		}
	}
	return true
}

// check refuses what a call may not ask for, and returns the call written anew:
// what was checked is what the provider reads, also where a key stood twice. most is
// what the call may use. check notes the call's model in c.
func check(c *call, body []byte, set Settings) (anew []byte, most Usage, _ *refusal) {
	bad := func(message string) ([]byte, Usage, *refusal) {
		return nil, most, &refusal{http.StatusBadRequest, message}
	}
	if marks(body) > maxMarks {
		return bad("the body has too many values")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil || doc == nil {
		return bad("the body is no JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return bad("something follows the JSON object")
	}
	rules, tools := of(c.form, set.Own), set.Tools
	for key, value := range doc {
		if lower := strings.ToLower(key); lower != key && (slices.Contains(rules.top, lower) || lower == "tools") {
			return bad("a key of the body is in capital letters")
		}
		if slices.Contains(rules.top, key) && key != "store" && value != nil && value != false {
			return bad("what the service stores or runs cannot be used: " + key)
		}
	}
	if c.form == openAI && !tools && !ownNested(doc, rules) {
		return bad(noTools)
	}
	if key := rules.find(doc, c.form); key != "" {
		return bad("what the service stores or fetches cannot be used: " + key)
	}
	if !tools && !ownTools(doc["tools"], c.form) {
		return bad(noTools)
	}
	if c.form == openAI && c.answers {
		if !set.Own {
			doc["store"] = false
		}
		if !report(*c, doc) {
			return bad("stream_options is no object")
		}
	}
	c.model = modelOf(*c, doc)
	var text bytes.Buffer
	text.Grow(len(body) + 256)
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return bad("the body is no JSON object")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), estimate(doc), nil
}

// report has a stream of chat completions end with what it used.
func report(c call, doc map[string]any) bool {
	if doc["stream"] != true || !strings.HasSuffix(c.path, "/chat/completions") {
		return true
	}
	options, ok := doc["stream_options"].(map[string]any)
	if !ok && doc["stream_options"] != nil {
		return false
	}
	if options == nil {
		options = map[string]any{}
	}
	options["include_usage"] = true
	doc["stream_options"] = options
	return true
}

// modelOf is the model that a call names; empty if it names none.
func modelOf(c call, doc map[string]any) string {
	if c.form == google {
		_, name, _ := strings.Cut(c.path, "/models/")
		name, _, _ = strings.Cut(name, ":")
		return name
	}
	name, _ := doc["model"].(string)
	return name
}

// find returns a key that is refused, or the kind of a part that the provider
// would fetch; empty if there is none.
func (r rules) find(v any, f form) string {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if key := r.find(one, f); key != "" {
				return key
			}
		}
	case map[string]any:
		if fetched := fetches(v, f); fetched != "" && !(r.own && fetched == "item_reference") {
			return fetched
		}
		for key, value := range v {
			if slices.Contains(r.refused, key) && value != nil {
				return key
			}
			if !slices.Contains(r.opaque, key) {
				if found := r.find(value, f); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// fetches says of a part that its bytes lie elsewhere.
func fetches(part map[string]any, f form) string {
	switch f {
	case anthropic:
		if _, ok := part["url"]; ok && part["type"] == "url" {
			return "url"
		}
	case openAI:
		if part["type"] == "item_reference" {
			return "item_reference"
		}
		image := part["image_url"]
		if nested, ok := image.(map[string]any); ok {
			image = nested["url"]
		}
		if address, ok := image.(string); ok && !strings.HasPrefix(address, "data:") {
			return "image_url"
		}
	}
	return ""
}

// runsHere are the kinds of tool that the assistant's side runs: their calls come
// back in the answer.
var runsHere = map[form][]string{
	anthropic: {"", "custom", "bash_", "text_editor_", "computer_", "memory_"},
	openAI:    {"function", "custom", "local_shell", "apply_patch"},
}

// ownTools reports whether the assistant's side runs all tools.
func ownTools(tools any, f form) bool {
	list, ok := tools.([]any)
	if !ok {
		return tools == nil
	}
	for _, t := range list {
		tool, ok := t.(map[string]any)
		if !ok || !ownTool(tool, f) {
			return false
		}
	}
	return true
}

func ownTool(tool map[string]any, f form) bool {
	if f == google {
		for key := range tool {
			if key != "functionDeclarations" && key != "function_declarations" {
				return false
			}
		}
		return true
	}
	kind, ok := tool["type"].(string)
	if !ok && tool["type"] != nil {
		return false
	}
	if f == openAI && kind == "namespace" { // codex groups a server's tools; groups in groups would be read again at each level
		list, ok := tool["tools"].([]any)
		return ok && !slices.ContainsFunc(list, func(t any) bool {
			one, ok := t.(map[string]any)
			return !ok || one["type"] == "namespace" || !ownTool(one, f)
		})
	}
	return slices.ContainsFunc(runsHere[f], func(own string) bool {
		return kind == own || strings.HasSuffix(own, "_") && strings.HasPrefix(kind, own)
	})
}
