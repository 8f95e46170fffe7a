package modeltest

import (
	"encoding/json"
	"net/http"
)

func readAnthropic(body []byte) (Request, error) {
	var in struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	r := Request{API: "anthropic"}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Name})
	}
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		var blocks []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(m.Content, &blocks) // or it is a string
		var results []string
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results = append(results, words(b.Content))
			}
		}
		if len(results) > 0 {
			r.Results = append(r.Results, results...)
		} else {
			r.Prompt, r.Results = words(m.Content), nil
		}
	}
	return r, nil
}

func writeAnthropic(w http.ResponseWriter, a answer) {
	usage := map[string]any{"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
	block, reason := map[string]any{"type": "text", "text": a.Text}, "end_turn"
	if a.tool.Name != "" {
		block, reason = map[string]any{"type": "tool_use", "id": a.id("toolu"), "name": a.tool.Name, "input": a.Args}, "tool_use"
	}
	message := map[string]any{"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.model,
		"content": []any{block}, "stop_reason": reason, "stop_sequence": nil, "usage": usage}
	if !a.stream {
		reply(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	delta := map[string]any{"type": "text_delta", "text": a.Text}
	if a.tool.Name != "" {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": a.args()}
	} else {
		block["text"] = ""
	}
	s := newStream(w)
	s.event("message_start", map[string]any{"type": "message_start", "message": message})
	s.event("content_block_start", map[string]any{"type": "content_block_start", "index": 0, "content_block": block})
	s.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": 0, "delta": delta})
	s.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": 0})
	s.event("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	s.event("message_stop", map[string]any{"type": "message_stop"})
}
