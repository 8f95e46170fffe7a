package keys

import (
	"regexp"
	"slices"
)

// rules are what the body of a provider's calls may hold. Keys are compared exactly.
type rules struct {
	keys    []string       // at the top, of the form: they store, fetch and run nothing
	top     []string       // at the top: they name something stored
	refused []string       // keys that name something stored or fetched, at any depth
	opaque  []string       // keys below which lie the assistant's own data and schemas
	stored  []string       // of refused and top, those that a group with a key of its own may use
	kinds   *regexp.Regexp // the kinds of tool that the assistant's side runs; of google, the keys of a tool
	own     bool           // the group has a key of its own
}

// rulesOf are by the services' own descriptions: Anthropic's Messages, OpenAI's Chat Completions and
// Responses, Gemini's generateContent and countTokens, whose keys have two spellings.
var rulesOf = map[form]rules{
	anthropic: {
		keys: []string{
			"cache_control", "context_management", "inference_geo", "max_tokens", "messages", "metadata", "model", "output_config", "output_format",
			"service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
		},
		top: []string{"container"}, refused: []string{"file_id"}, stored: []string{"file_id", "container"},
		opaque: []string{"input", "input_schema", "input_examples", "schema", "metadata", "mcp_servers"}, // the last passes only if it is allowed
		kinds:  regexp.MustCompile(`^(|custom|(bash|text_editor|computer|memory)_[0-9]{8})$`),
	},
	openAI: {
		keys: []string{
			"audio", "client_metadata", "context_management", "frequency_penalty", "function_call", "functions", "include", "input", "instructions", "logit_bias", "logprobs",
			"max_completion_tokens", "max_output_tokens", "max_tokens", "max_tool_calls", "messages", "metadata", "modalities", "model", "n", "parallel_tool_calls",
			"prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "reasoning_effort", "response_format", "safety_identifier",
			"seed", "service_tier", "stop", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user", "verbosity",
		},
		top:     []string{"previous_response_id", "conversation", "background", "prompt", "store"},
		refused: []string{"file_id", "file_url", "vector_store_ids"},
		opaque:  []string{"parameters", "schema", "metadata", "client_metadata", "env", "logit_bias"},
		stored:  []string{"file_id", "vector_store_ids", "previous_response_id", "conversation", "prompt"},
		kinds:   regexp.MustCompile(`^(function|custom|local_shell|apply_patch)$`),
	},
	google: {
		keys: []string{
			"contents", "generateContentRequest", "generate_content_request", "generationConfig", "generation_config", "model", "safetySettings", "safety_settings",
			"serviceTier", "service_tier", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "tools",
		},
		top: []string{"cachedContent", "cached_content", "store"}, refused: []string{"fileData", "file_data"},
		opaque: []string{
			"args", "response", "parameters", "parametersJsonSchema", "parameters_json_schema", "responseSchema", "response_schema",
			"responseJsonSchema", "response_json_schema",
		},
		kinds: regexp.MustCompile(`^(functionDeclarations|function_declarations)$`),
	},
}

// of returns the rules of a form for a group with, or without, a key of its own.
func of(f form, own bool) rules {
	r := rulesOf[f]
	if r.own = own; own {
		kept := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(key string) bool { return slices.Contains(r.stored, key) })
		}
		r.keys = slices.Concat(r.keys, r.stored)
		r.refused, r.top = kept(r.refused), kept(r.top)
	}
	return r
}

// readInside are the keys that a check or an estimate reads anywhere in a body.
var readInside = []string{
	"type", "tools", "url", "source", "data", "image_url", "video_url", "audio_url", "file_data", "input_audio", "model", "models", "max_tokens", "max_output_tokens",
	"max_completion_tokens", "maxOutputTokens", "mcp_servers", "media_type", "mimeType", "inlineData",
}
