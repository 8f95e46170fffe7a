package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// tool is a tool of either OpenAI API: the older one keeps the name in
// function, the newer one may gather tools in a namespace.
type tool struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Tools []tool `json:"tools"`
}

func flatten(tools []tool, namespace string) (flat []Tool) {
	for _, t := range tools {
		switch {
		case len(t.Tools) > 0:
			flat = append(flat, flatten(t.Tools, t.Name)...)
		case t.Function.Name != "":
			flat = append(flat, Tool{Name: t.Function.Name})
		case t.Name != "":
			flat = append(flat, Tool{Name: t.Name, Namespace: namespace})
		}
	}
	return flat
}

func readResponses(body []byte) (Request, error) {
	var in struct {
		Tools []tool `json:"tools"`
		Input []struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Output  json.RawMessage `json:"output"`
			Tools   []tool          `json:"tools"`
		} `json:"input"`
	}
	r := Request{API: "responses"}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.Tools = flatten(in.Tools, "")
	for _, item := range in.Input {
		r.Tools = append(r.Tools, flatten(item.Tools, "")...)
		switch {
		case item.Type == "function_call_output", item.Type == "custom_tool_call_output":
			r.Results = append(r.Results, words(item.Output))
		case item.Role == "user":
			r.Prompt, r.Results = words(item.Content), nil
		}
	}
	return r, nil
}

func writeResponses(w http.ResponseWriter, a answer) {
	item := map[string]any{"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": a.Text, "annotations": []any{}}}}
	if a.tool.Name != "" {
		item = map[string]any{"type": "function_call", "id": a.id("fc"), "call_id": a.id("call"),
			"name": a.tool.Name, "arguments": a.args(), "status": "completed"}
		if a.tool.Namespace != "" {
			item["namespace"] = a.tool.Namespace
		}
	}
	if a.script {
		item = map[string]any{"type": "custom_tool_call", "id": a.id("ctc"), "call_id": a.id("call"), "name": a.tool.Name,
			"namespace": a.tool.Namespace, "status": "completed", "input": a.javascript()}
	}
	response := map[string]any{"id": a.id("resp"), "object": "response", "model": a.model, "status": "completed", "output": []any{item},
		"usage": map[string]any{"input_tokens": 100, "output_tokens": 7, "total_tokens": 107,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}}}
	if !a.stream {
		reply(w, response)
		return
	}
	s := newStream(w)
	started := map[string]any{"id": a.id("resp"), "object": "response", "model": a.model, "status": "in_progress", "output": []any{}}
	s.event("response.created", map[string]any{"type": "response.created", "response": started})
	s.event("response.output_item.added", map[string]any{"type": "response.output_item.added", "output_index": 0, "item": item})
	s.event("response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	s.event("response.completed", map[string]any{"type": "response.completed", "response": response})
}

// javascript calls the wanted tool from codex's code mode, in which a model has
// no tool but one that runs scripts.
func (a answer) javascript() string {
	return fmt.Sprintf(`const name = Object.keys(tools).find(n => n.endsWith(%q)); text(await tools[name](%s));`, a.Call, a.args())
}

func readChat(body []byte) (Request, error) {
	var in struct {
		Tools    []tool `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	r := Request{API: "chat"}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.Tools = flatten(in.Tools, "")
	for _, m := range in.Messages {
		switch m.Role {
		case "tool":
			r.Results = append(r.Results, words(m.Content))
		case "user":
			r.Prompt, r.Results = words(m.Content), nil
		}
	}
	return r, nil
}

func writeChat(w http.ResponseWriter, a answer) {
	usage := map[string]any{"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
	message, reason := map[string]any{"role": "assistant", "content": a.Text}, "stop"
	if a.tool.Name != "" {
		call := map[string]any{"index": 0, "id": a.id("call"), "type": "function",
			"function": map[string]any{"name": a.tool.Name, "arguments": a.args()}}
		message, reason = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	chunk := func(object, field string, part any, reason any) map[string]any {
		return map[string]any{"id": a.id("chatcmpl"), "object": object, "created": 1, "model": a.model,
			"choices": []any{map[string]any{"index": 0, field: part, "finish_reason": reason}}}
	}
	if !a.stream {
		whole := chunk("chat.completion", "message", message, reason)
		whole["usage"] = usage
		reply(w, whole)
		return
	}
	s := newStream(w)
	s.event("", chunk("chat.completion.chunk", "delta", message, nil))
	last := chunk("chat.completion.chunk", "delta", map[string]any{}, reason)
	last["usage"] = usage
	s.event("", last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
