package keys

import (
	"slices"
	"strings"
)

const noTools = "tools that the service runs are not allowed here; the operator may set provider_tools: true"

// searches says that a model searches the web by itself, by its name.
func searches(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"-search-preview", "-search-api", "-deep-research", ":online", "groq/compound"}, func(part string) bool {
		return strings.Contains(model, part)
	})
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
