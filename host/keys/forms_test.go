package keys

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var targets = map[form]string{anthropic: toClaude, openAI: toChat, google: toGemini}

// refusedFor says whether a call was refused, with its name and its remedy.
func (w *world) refusedFor(target, body, name string) bool {
	w.t.Helper()
	status, text, _ := w.call("POST", target, body)
	return status == 400 && strings.Contains(text, name) && strings.Contains(text, "provider_tools: {allow: ["+name+"]}")
}

// post makes a call, and forgets what the provider got.
func (w *world) post(target, body string) (status int, text string) {
	w.t.Helper()
	status, text, _ = w.call("POST", target, body)
	for len(w.seen) > 0 {
		<-w.seen
	}
	return status, text
}

// TestAKeyThatNobodyHadListedPassed: the list was of what is bad. Now each key of the form passes,
// and every other one is refused by its name, unless the operator allows it.
func TestAKeyThatNobodyHadListedPassed(t *testing.T) {
	w := newWorld(t, ok)
	for f, target := range targets {
		for _, key := range rulesOf[f].keys {
			if status, text := w.post(target, `{"`+key+`":null}`); status != 200 {
				t.Errorf("%s of the form: %d %s", key, status, text)
			}
		}
		for _, key := range []string{"plugins", "search_parameters", "enable_search", "web_search_options", "mcp_servers", "preset", "fallbacks", "route", "safe_prompt", "something_of_tomorrow"} {
			w.settings.Allow = nil
			for _, value := range []string{"true", "false", `[{"id":"web"}]`, `{}`, `"x"`, "0"} {
				if body := `{"` + key + `":` + value + `}`; !w.refusedFor(target, body, key) {
					t.Errorf("%s passes at %s", body, target)
				}
			}
			if !slices.Contains(w.of.Asked(), key) {
				t.Errorf("the operator does not see %s", key)
			}
			w.settings.Allow = []string{"other", key}
			if status, text := w.post(target, `{"`+key+`":[]}`); status != 200 {
				t.Errorf("%s is allowed: %d %s", key, status, text)
			}
			if slices.Contains(w.of.Asked(), key) {
				t.Errorf("the operator still sees %s", key)
			}
			w.of.asked = map[string]time.Time{}
		}
	}
	w.settings.Allow = nil
	if !w.refusedFor("/google/v1beta/models/g:countTokens", `{"generateContentRequest":{"plugins":[]}}`, "plugins") {
		t.Error("a key inside generateContentRequest passes")
	}
}

// TestWhatAgentsSendPasses: the keys at the top of the calls of Claude Code 2.1.332, codex 0.171.0,
// gemini-cli 0.61.0 and opencode 1.18.33.
func TestWhatAgentsSendPasses(t *testing.T) {
	w := newWorld(t, ok)
	for target, keys := range map[string]string{
		toClaude:   "context_management max_tokens messages metadata model output_config stream system thinking tools",
		toResponse: "client_metadata include input model parallel_tool_calls prompt_cache_key reasoning store stream tool_choice tools",
		toGemini:   "contents generationConfig systemInstruction tools",
		toChat:     "max_tokens messages model stream stream_options tool_choice tools top_p",
	} {
		doc := map[string]any{}
		for key := range strings.FieldsSeq(keys) {
			doc[key] = map[string]any{}
		}
		doc["tools"] = []any{}
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := w.post(target, string(body)); status != 200 {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}

// TestAKindOfToolThatNobodyHadListed, also where a conversation brings it.
func TestAKindOfToolThatNobodyHadListed(t *testing.T) {
	w := newWorld(t, ok)
	in := map[form][]string{
		anthropic: {`{"tools":[{"type":"%s","name":"x"}]}`, `{"messages":[{"content":[{"type":"x","tools":[{"type":"%s"}]}]}]}`},
		openAI:    {`{"tools":[{"type":"%s"}]}`, `{"tools":[{"type":"namespace","tools":[{"type":"%s"}]}]}`, `{"input":[{"type":"additional_tools","tools":[{"type":"%s"}]}]}`},
		google:    {`{"tools":[{"functionDeclarations":[],"%s":{}}]}`, `{"generateContentRequest":{"tools":[{"%s":{}}]}}`},
	}
	kinds := map[form][]string{
		anthropic: {"web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "bash_code_execution_20250825", "memory_search", "advisor_20260301", "mcp_toolset"},
		openAI:    {"web_search", "web_search_preview", "file_search", "code_interpreter", "mcp", "image_generation", "computer_use_preview", "tool_search", "shell", "openrouter:web_search"},
		google:    {"googleSearch", "google_search", "codeExecution", "urlContext", "fileSearch", "computerUse", "mcpServers"},
	}
	for f, target := range targets {
		for _, kind := range kinds[f] {
			for _, body := range in[f] {
				body = strings.ReplaceAll(body, "%s", kind)
				w.settings.Allow = nil
				if !w.refusedFor(target, body, kind) {
					t.Errorf("%s passes", body)
				}
				w.settings.Allow = []string{kind}
				if status, text := w.post(target, body); status != 200 {
					t.Errorf("allowed: %s: %d %s", body, status, text)
				}
			}
		}
	}
	w.settings.Allow = nil
	for target, all := range map[string][]string{
		toClaude:   {`{"tools":[{"name":"x"},{"type":"custom"},{"type":"bash_20250124"},{"type":"text_editor_20250728"}]}`, `{"messages":[{"content":[{"type":"tool_use","input":{"tools":[{"type":"web_search"}]}}]}]}`},
		toResponse: {`{"tools":[{"type":"function","parameters":{"properties":{"tools":{"type":"web_search"}}}},{"type":"custom"},{"type":"local_shell"}]}`},
		toGemini:   {`{"tools":[{"functionDeclarations":[{"parameters":{"properties":{"Type":{}}}}]}]}`},
	} {
		for _, body := range all {
			if status, text := w.post(target, body); status != 200 {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
	}
}

// TestAModelWithToolsWasSeenInOneFieldAlone: models are named in lists and inside other values too.
func TestAModelWithToolsWasSeenInOneFieldAlone(t *testing.T) {
	w := newWorld(t, ok)
	for _, model := range []string{"openai/gpt-5:online", "@preset/mine", "openai/gpt-5@preset/mine", "o3-deep-research", "groq/compound-mini", "sonar-pro", "gpt-4o-Search-Preview"} {
		for _, body := range []string{`{"model":"%s"}`, `{"model":"m","models":["a","%s"]}`, `{"model":"m","fallbacks":[{"model":"%s"}]}`, `{"model":"m","fallback_models":["%s"]}`, `{"model":"m","provider":{"preset":"%s"}}`, `{"model":"m","reasoning":{"summary_model":"%s"}}`} {
			body = strings.ReplaceAll(body, "%s", model)
			for _, target := range []string{toClaude, toChat, toResponse} {
				w.settings.Allow = []string{"models", "fallbacks", "fallback_models", "provider", "reasoning"}
				if !w.refusedFor(target, body, model) {
					t.Errorf("%s passes at %s", body, target)
				}
				w.settings.Allow = append(w.settings.Allow, model)
				if status, text := w.post(target, body); status != 200 {
					t.Errorf("allowed: %s: %d %s", body, status, text)
				}
			}
		}
	}
	w.settings.Allow = nil
	if !w.refusedFor("/google/v1beta/models/deep-research-pro:generateContent", `{}`, "deep-research-pro") {
		t.Error("a model in the path passes")
	}
	if status, text := w.post(toChat, `{"model":"m","messages":[{"role":"user","content":"gpt:online"}]}`); status != 200 {
		t.Errorf("words: %d %s", status, text)
	}
}

// TestAKeyInAnotherSpellingPassed what was compared otherwise than the service does: the long s is
// another letter to some, and none to others.
func TestAKeyInAnotherSpellingPassed(t *testing.T) {
	w := newWorld(t, ok)
	for _, all := range []bool{false, true} {
		w.settings.Tools, w.settings.Allow = all, []string{"toolſ", "Store", "MODEL"}
		for target, bodies := range map[string][]string{
			toClaude:   {`{"toolſ":[{"type":"web_search"}]}`, `{"MODEL":"m"}`, `{"Container":"c"}`, `{"tools":[{"Type":"web_search_20250305"}]}`, `{"messages":[{"content":[{"source":{"type":"url","URL":"http://x"}}]}]}`, `{"Max_Tokens":9}`},
			toResponse: {`{"Store":true}`, `{"previous_reſponse_id":"r"}`, `{"input":[{"FILE_ID":"f"}]}`, `{"tools":[{"type":"namespace","Tools":[{"type":"mcp"}]}]}`, `{"input":[{"Image_URL":"https://x"}]}`},
		} {
			for _, body := range bodies {
				if status, text := w.post(target, body); status != 400 || !strings.Contains(text, "Longshore: ") {
					t.Errorf("all %v: %s: %d %s", all, body, status, text)
				}
			}
		}
	}
}

// TestNamesThatAnAssistantMakesUpAreBounded: it chooses them, and the operator reads them.
func TestNamesThatAnAssistantMakesUpAreBounded(t *testing.T) {
	w := newWorld(t, ok)
	for n := range 3 * mostAsked {
		w.call("POST", toChat, fmt.Sprintf(`{"%d-%s":1}`, n, strings.Repeat("ü", 1000)))
	}
	names := w.of.Asked()
	if len(names) != mostAsked {
		t.Errorf("%d names are kept", len(names))
	}
	for _, name := range names {
		if len(name) > maxAsked || strings.Contains(name, "\ufffd") {
			t.Errorf("%q is kept", name)
		}
	}
}

// TestTextWithoutASpaceHadThePriceOfAPicture: with a budget of 300,000 tokens, four calls at once
// used 2.9 million.
func TestTextWithoutASpaceHadThePriceOfAPicture(t *testing.T) {
	letters := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk", 25_000) // a million
	for target, body := range map[string]string{
		toClaude: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"` + letters + `"}]}`,
		toChat:   `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"data:image/png;base64,` + letters + `"}]}`,
		toGemini: `{"generationConfig":{"maxOutputTokens":9},"contents":[{"parts":[{"text":"` + letters + `"}]}]}`,
	} {
		w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			n := len(r.Header.Get("X-Body")) / 2
			fmt.Fprintf(rw, `{"type":"message","usage":{"input_tokens":%d,"prompt_tokens":%d},"usageMetadata":{"promptTokenCount":%d}}`, n, n, n)
		})
		w.settings.Budget = Budget{Tokens: 300_000}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				res, err := w.client.Post("http://127.0.0.1:8431"+target, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				text, _ := io.ReadAll(res.Body)
				if res.StatusCode == 200 || !strings.Contains(string(text), "budget") {
					t.Errorf("%s: %d %s", target, res.StatusCode, text)
				}
			})
		}
		group.Wait()
		if len(w.seen) > 0 {
			t.Errorf("%s: the service got %d calls", target, len(w.seen))
		}
	}
}

// TestOnlyDeclaredDataIsData: each form has its own place for it, and anywhere else it is text.
func TestOnlyDeclaredDataIsData(t *testing.T) {
	data := strings.Repeat("QUJD", 64_000) // 256,000 bytes: 4,000 tokens of a picture
	text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some words ", 10_000)))
	for what, one := range map[string]struct {
		form form
		body string
		want int64
	}{
		"a picture for Claude":        {anthropic, `{"messages":[{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%"}}]}]}`, 4_000},
		"a document":                  {anthropic, `{"messages":[{"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%"}}]}]}`, 16_000},
		"a text as a document":        {anthropic, `{"messages":[{"content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"%"}}]}]}`, 256_000},
		"a text in base64":            {anthropic, `{"messages":[{"content":[{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + text + `"}}]}]}`, 36_600},
		"a tool's argument":           {anthropic, `{"messages":[{"content":[{"type":"tool_use","input":{"source":{"type":"base64","media_type":"image/png","data":"%"}}}]}]}`, 256_000},
		"a picture for chat":          {openAI, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%"}}]}]}`, 4_000},
		"one for responses":           {openAI, `{"input":[{"content":[{"type":"input_image","image_url":"data:image/png;base64,%"}]}]}`, 4_000},
		"a file":                      {openAI, `{"input":[{"content":[{"type":"input_file","file_data":"data:application/pdf;base64,%"}]}]}`, 16_000},
		"a sound":                     {openAI, `{"messages":[{"content":[{"type":"input_audio","input_audio":{"format":"wav","data":"%"}}]}]}`, 16_000},
		"words like a picture":        {openAI, `{"messages":[{"content":"data:image/png;base64,%"}]}`, 256_000},
		"a picture without base64":    {openAI, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/svg+xml,%"}}]}]}`, 256_000},
		"a picture for Gemini":        {google, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"%"}}]}]}`, 4_000},
		"in the other spelling":       {google, `{"contents":[{"parts":[{"inline_data":{"mime_type":"video/mp4","data":"%"}}]}]}`, 16_000},
		"a function's answer":         {google, `{"contents":[{"parts":[{"functionResponse":{"response":{"inlineData":{"mimeType":"image/png","data":"%"}}}}]}]}`, 256_000},
		"words":                       {google, `{"contents":[{"parts":[{"text":"` + strings.Repeat("some words ", 10_000) + `"}]}]}`, 36_600},
		"words without spaces":        {google, `{"contents":[{"parts":[{"text":"` + strings.Repeat("话", 10_000) + `"}]}]}`, 20_000},
		"the smallest picture":        {google, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}]}`, leastOfFile},
		"a picture for another model": {anthropic, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%"}}]}]}`, 256_000},
	} {
		got := estimated(t, one.form, strings.ReplaceAll(one.body, "%", data)).Input
		if got < one.want || got > one.want+one.want/20+100 {
			t.Errorf("%s: %d tokens, want about %d", what, got, one.want)
		}
	}
}

// TestACallThatDoesNotFitSaysWhichFigureToRaise: one that is too large alone, and one beside others.
func TestACallThatDoesNotFitSaysWhichFigureToRaise(t *testing.T) {
	l, now := newLedger(t, t.TempDir()), time.Now()
	both := Budget{Tokens: 100, Cost: NanosOf(2), Key: "limits.budget"}
	reserve := func(folder string, most Spent, b Budget) string {
		_, err := l.reserve(t.Context(), folder, most, b, now)
		over, ok := errors.AsType[*overBudget](err)
		if !ok {
			t.Fatalf("%+v: %v", most, err)
		}
		return over.words
	}
	_, raise, _ := strings.Cut(reserve("a", Spent{130, NanosOf(2.004)}, both), "The operator may raise ")
	if raise, _, _ = strings.Cut(raise, ";"); raise != "limits.budget.tokens to 130 and limits.budget.usd to 2.01" {
		t.Error(raise)
	}
	if _, err := l.reserve(t.Context(), "a", Spent{60, NanosOf(1)}, both, now); err != nil {
		t.Fatal(err)
	}
	words := reserve("a", Spent{50, NanosOf(0.5)}, both)
	want := "calls under way hold the rest of this group's budget, 100 tokens and 2.00 USD a day: at most 60 tokens and 1.0000 USD, and this one 50 tokens and 0.5000 USD. Try again once they have ended; or the operator may raise limits.budget.tokens to 110"
	if diff := cmp.Diff(want, words); diff != "" {
		t.Error(diff)
	}
	if words := reserve("b", Spent{Tokens: 7}, Budget{Tokens: 5}); !strings.Contains(words, "may raise budget.tokens to 7;") {
		t.Error(words)
	}
}
