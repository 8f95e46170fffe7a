package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// usual are the values of keys at which a call costs what the prices say.
var usual = map[string][]string{
	"service_tier":  {"auto", "default", "standard_only", "flex"},
	"speed":         {"standard"},
	"inference_geo": {"global"},
}

// dearer returns a key by which a call may cost more than its model's price, or use another
// model; empty if there is none.
func (r rules) dearer(doc map[string]any, model string) string {
	for key, values := range usual {
		if value, ok := doc[key].(string); doc[key] != nil && !(ok && slices.Contains(values, value)) {
			return key
		}
	}
	for key, name := range r.models(doc) {
		if strings.TrimPrefix(name, "models/") != model {
			return key
		}
	}
	return ""
}

// maxModel is how many bytes the name of a model may have. The log and the prices read it.
const maxModel = 200

// maxMarks bounds what a body becomes in memory: many small values take far more
// than their text.
const maxMarks = 1 << 18

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

// check refuses what a call may not ask for, and returns the call written anew:
// what was checked is what the provider reads, also where a key stood twice. most is
// what the call may use. check notes in c the call's model, and whether it thinks.
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
	rules := of(c.form, set.Own)
	if refused := rules.checkTop(c, doc, set); refused != nil {
		return nil, most, refused
	}
	for _, key := range []string{"generateContentRequest", "generate_content_request"} {
		if inner, ok := doc[key].(map[string]any); ok {
			if refused := rules.checkTop(c, inner, set); refused != nil {
				return nil, most, refused
			}
		}
	}
	if key := rules.misspelt(doc); key != "" {
		return bad(fmt.Sprintf("some services read the key %.40q in any spelling: write it as the service's description does", key))
	}
	if tool, ok := rules.ownNested(doc, c.form, set); !ok {
		return nil, most, c.forbid("the tool", tool)
	}
	if key := rules.find(doc, c.form); key != "" {
		return bad("what the service stores or fetches cannot be used: " + key)
	}
	if c.form == openAI && c.answers {
		if !set.Own {
			doc["store"] = false
		}
		if !report(*c, doc) {
			return bad("stream_options is no object")
		}
	}
	c.model, c.thinks = modelOf(*c, doc), thinks(*c, doc)
	if len(c.model) > maxModel {
		return bad(fmt.Sprintf("the model's name has more than %d bytes", maxModel))
	}
	if refused := rules.checkModels(c, doc, set); refused != nil {
		return nil, most, refused
	}
	if set.Budget.Cost > 0 && c.answers {
		if key := rules.dearer(doc, c.model); key != "" {
			return bad("the budget of this group is in money, and the prices do not hold for this: " + key)
		}
	}
	var text bytes.Buffer
	text.Grow(len(body) + 256)
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return bad("the body is no JSON object")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), rules.estimate(doc, c.form), nil
}

// checkTop refuses keys at the top that are not of the form, and those of what the service stores.
// A key without a value is left out.
func (r rules) checkTop(c *call, doc map[string]any, set Settings) *refusal {
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		value := doc[key]
		switch known := slices.Contains(r.keys, key); {
		case slices.Contains(r.top, key):
			if value != nil && value != false && !(key == "store" && c.form == openAI) { // which the host sets
				return &refusal{http.StatusBadRequest, "what the service stores or runs cannot be used: " + key}
			}
		case value == nil && !known:
			delete(doc, key)
		case !known && r.other(key, r.keys, r.top, r.refused, readInside):
			return &refusal{http.StatusBadRequest, fmt.Sprintf("some services read the key %.40q in any spelling: write it as the service's description does", key)}
		case !known && !set.allows(key):
			return c.forbid("the key", key)
		}
	}
	return nil
}

// other says whether a key is another spelling of one of the known.
func (r rules) other(key string, known ...[]string) bool {
	return slices.ContainsFunc(known, func(all []string) bool {
		return slices.ContainsFunc(all, func(one string) bool { return one != key && strings.EqualFold(one, key) }) && !slices.Contains(all, key)
	})
}

// misspelt returns a key below the top that is another spelling of one that a check reads.
func (r rules) misspelt(v any) string {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if key := r.misspelt(one); key != "" {
				return key
			}
		}
	case map[string]any:
		for key, value := range v {
			if r.other(key, readInside, r.refused) {
				return key
			}
			if !slices.Contains(r.opaque, key) {
				if found := r.misspelt(value); found != "" {
					return found
				}
			}
		}
	}
	return ""
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
	delete(options, "continuous_usage_stats") // reports before the end: a stream that is cut would pass for whole
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

// thinks says whether a call lets the model think before it answers. Of what it thinks, an
// answer of Anthropic's form may show a summary, or nothing, until its last report. The
// reports of the other forms count it.
func thinks(c call, doc map[string]any) bool {
	if c.form != anthropic || doc["thinking"] == nil {
		return false
	}
	how, _ := doc["thinking"].(map[string]any)
	return how["type"] != "disabled"
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
			if value != nil && slices.ContainsFunc(r.refused, func(one string) bool { return strings.EqualFold(one, key) }) {
				return key // some services read keys in whatever case
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
		for _, key := range []string{"image_url", "video_url", "audio_url"} {
			from := part[key]
			if nested, ok := from.(map[string]any); ok {
				from = nested["url"]
			}
			if address, ok := from.(string); ok && !strings.HasPrefix(address, "data:") {
				return key
			}
		}
		if data, ok := part["file_data"].(string); ok && strings.Contains(data[:min(len(data), 64)], "://") {
			return "file_data"
		}
	}
	return ""
}
