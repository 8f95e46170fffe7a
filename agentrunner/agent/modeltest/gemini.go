package modeltest

import (
	"encoding/json"
	"net/http"
)

func readGemini(body []byte) (Request, error) {
	var in struct {
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string `json:"text"`
				Response *struct {
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	r := Request{API: "gemini"}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			r.Tools = append(r.Tools, Tool{Name: f.Name})
		}
	}
	for _, content := range in.Contents {
		for _, part := range content.Parts {
			switch {
			case part.Response != nil:
				r.Results = append(r.Results, string(part.Response.Response))
			case content.Role == "user":
				r.Prompt, r.Results = part.Text, nil
			}
		}
	}
	return r, nil
}

func writeGemini(w http.ResponseWriter, a answer) {
	part := map[string]any{"text": a.Text}
	if a.tool.Name != "" {
		part = map[string]any{"functionCall": map[string]any{"name": a.tool.Name, "args": a.Args}}
	}
	response := map[string]any{
		"candidates": []any{map[string]any{"index": 0, "finishReason": "STOP",
			"content": map[string]any{"role": "model", "parts": []any{part}}}},
		"usageMetadata": map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107},
	}
	if !a.stream {
		reply(w, response)
		return
	}
	newStream(w).event("", response)
}
