package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
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
		Config struct {
			Schema *schema `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	r := Request{API: "gemini"}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.form = in.Config.Schema
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

// schema is the form that a request wants its answer in. Gemini CLI has a small
// model score each prompt in one, and asks for a hundred seconds until it gets it.
type schema struct {
	Properties map[string]struct {
		Type string `json:"type"`
	} `json:"properties"`
}

// fill is an answer in that form.
func (s schema) fill() string {
	values := map[string]any{}
	for name, p := range s.Properties {
		switch strings.ToLower(p.Type) {
		case "integer", "number":
			values[name] = 1
		case "boolean":
			values[name] = false
		default:
			values[name] = "a word"
		}
	}
	b, _ := json.Marshal(values) // of such values it cannot fail
	return string(b)
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
