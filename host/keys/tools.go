package keys

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
)

// maxAsked is how many bytes of a name the operator is shown.
const maxAsked = 64

// allows says whether the operator lets a key at the top, a kind of tool or a model through.
func (s Settings) allows(name string) bool { return s.Tools || slices.Contains(s.Allow, name) }

// forbid is the refusal of what is not known to be harmless. It notes the name for the operator.
func (c *call) forbid(what, name string) *refusal {
	name = strings.ToValidUTF8(name[:min(len(name), maxAsked)], "")
	c.asked = name
	return &refusal{http.StatusBadRequest, fmt.Sprintf("%s %q is not allowed here: the service might run, fetch or store something for it. "+
		"The operator may set provider_tools: {allow: [%s]}, or provider_tools: true for all", what, name, name)}
}

// searches says that a model uses tools of the service by itself, by its name.
func searches(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"-search-preview", "-search-api", "deep-research", ":online", "@preset/", "groq/compound", "compound-beta", "sonar"}, func(part string) bool {
		return strings.Contains(model, part)
	})
}

// checkModels refuses models that use tools of the service, in each field that names one.
func (r rules) checkModels(c *call, doc map[string]any, set Settings) *refusal {
	if searches(c.model) && !set.allows(c.model) {
		return c.forbid("the model", c.model)
	}
	for _, name := range r.models(doc) {
		if searches(name) && !set.allows(name) {
			return c.forbid("the model", name)
		}
	}
	return nil
}

// models are the names of models in a body, each with the key that names it: also in lists of
// those to fall back to.
func (r rules) models(v any) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { r.eachModel(v, "", yield) }
}

// eachModel is false if yield was. key is that which names models above v; empty: none does.
func (r rules) eachModel(v any, key string, yield func(key, name string) bool) bool {
	switch v := v.(type) {
	case string:
		return key == "" || yield(key, v)
	case []any:
		for _, one := range v {
			if !r.eachModel(one, key, yield) {
				return false
			}
		}
	case map[string]any:
		for below, value := range v {
			if slices.Contains(r.opaque, below) {
				continue
			}
			at := key
			if named := strings.ToLower(below); strings.Contains(named, "model") || strings.HasPrefix(named, "fallback") || named == "preset" {
				at = below
			}
			if !r.eachModel(value, at, yield) {
				return false
			}
		}
	}
	return true
}

// ownTools reports whether the assistant's side runs all tools, or the operator allows the others.
// It returns the first one that is not so.
func (r rules) ownTools(tools any, f form, set Settings) (kind string, ok bool) {
	list, isList := tools.([]any)
	if !isList {
		return "tools", tools == nil || set.Tools
	}
	for _, t := range list {
		tool, isTool := t.(map[string]any)
		if !isTool && !set.Tools {
			return "tools", false
		}
		if kind, ok := r.ownTool(tool, f, set); !ok {
			return kind, false
		}
	}
	return "", true
}

func (r rules) ownTool(tool map[string]any, f form, set Settings) (kind string, ok bool) {
	if f == google {
		for key := range tool {
			if !r.kinds.MatchString(key) && !set.allows(key) {
				return key, false
			}
		}
		return "", true
	}
	kind, isText := tool["type"].(string)
	if !isText && tool["type"] != nil {
		return "type", set.Tools
	}
	if f == openAI && kind == "namespace" { // codex groups a server's tools; groups in groups would be read again at each level
		list, isList := tool["tools"].([]any)
		return kind, set.allows(kind) || isList && !slices.ContainsFunc(list, func(t any) bool {
			one, isTool := t.(map[string]any)
			return !isTool || one["type"] == "namespace"
		})
	}
	return kind, r.kinds.MatchString(kind) || set.allows(kind)
}

// ownNested looks at all tools of a body: a conversation can bring some.
func (r rules) ownNested(v any, f form, set Settings) (kind string, ok bool) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if kind, ok := r.ownNested(one, f, set); !ok {
				return kind, false
			}
		}
	case map[string]any:
		for key, value := range v {
			if key == "tools" {
				if kind, ok := r.ownTools(value, f, set); !ok {
					return kind, false
				}
			}
			if !slices.Contains(r.opaque, key) {
				if kind, ok := r.ownNested(value, f, set); !ok {
					return kind, false
				}
			}
		}
	}
	return "", true
}
