package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// handle binds a tool to its function. It first checks the arguments against the
// tool's schema, with messages that a model can act on.
func handle[A any](k kit, t mcp.Tool, do func(ctx context.Context, args A, progress progressFunc) (*mcp.CallToolResult, error)) server.ServerTool {
	expected := shapeOf(t)
	return server.ServerTool{Tool: t, Handler: func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args A
		if err := bind(t.Name, expected, req.Params.Arguments, &args); err != nil {
			return k.refused(t.Name, &sender.Problem{Code: "invalid_argument", Message: err.Error(),
				Hint: "correct the arguments and call " + t.Name + " again"}), nil
		}
		result, err := do(ctx, args, k.progress(ctx, req))
		if p, ok := errors.AsType[*sender.Problem](err); ok {
			return k.refused(t.Name, p), nil
		}
		if err != nil {
			return k.broken(t.Name, err), nil
		}
		return result, nil
	}}
}

// bind reads arguments into a tool's parameters. A null counts as absent, since some
// CLIs write an optional parameter so.
func bind(tool string, expected shape, arguments, into any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if arguments != nil {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return fmt.Errorf("the arguments of %s must be one JSON object", tool)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := expected.Properties[key]; !ok {
			return unknown(tool, key, expected)
		}
	}
	var missing []string
	for _, key := range expected.Required {
		if v, ok := fields[key]; !ok || bytes.Equal(v, []byte("null")) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s needs %s", tool, strings.Join(missing, " and "))
	}
	if loosen(fields, expected) {
		if raw, err = json.Marshal(fields); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // only matters inside lists: the top level was checked above
	if err := decoder.Decode(into); err != nil {
		return typeError(tool, err)
	}
	return nil
}

// fileList accepts a list of files in the forms that models also write: a JSON
// string that contains the list, and a path in place of an object. Anything else is
// returned unchanged.
func fileList(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
		if !json.Valid(raw) { // one path
			raw, _ = json.Marshal([]string{text}) // marshalling strings cannot fail
		}
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw
	}
	for i, item := range items {
		var path string
		if !bytes.Equal(item, []byte("null")) && json.Unmarshal(item, &path) == nil {
			items[i], _ = json.Marshal(map[string]string{"file_path": path})
		}
	}
	all, err := json.Marshal(items)
	if err != nil {
		return raw
	}
	return all
}

// loosen replaces values that models write in another form than the schema's, and reports
// whether there were any.
func loosen(fields map[string]json.RawMessage, expected shape) (changed bool) {
	for key, value := range fields {
		taken := loose(value, expected.Properties[key].Type)
		if key == "files" {
			taken = fileList(value)
		}
		changed = changed || !bytes.Equal(taken, value)
		fields[key] = taken
	}
	return changed
}

// loose accepts a number, a truth value or a list that is written as a text, and a whole number
// with a fraction of zero. Anything else is returned unchanged.
func loose(value json.RawMessage, kind string) json.RawMessage {
	text := string(value)
	if kind != "string" && json.Unmarshal(value, &text) == nil {
		text = strings.TrimSpace(text)
	}
	switch kind {
	case "integer":
		if n, err := strconv.ParseFloat(text, 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return strconv.AppendInt(nil, int64(n), 10)
		}
	case "boolean":
		if yes, err := strconv.ParseBool(text); err == nil && value[0] == '"' {
			return strconv.AppendBool(nil, yes)
		}
	case "array":
		if strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return value
}

// unknown names the parameter that was probably meant.
func unknown(tool, key string, expected shape) error {
	names := slices.Sorted(maps.Keys(expected.Properties))
	if meant := meant(key, names); meant != "" {
		return fmt.Errorf("%s has no parameter %q; did you mean %q?", tool, key, meant)
	}
	if key == "chat" || key == "chat_id" || key == "chatJid" {
		return fmt.Errorf("%s has no parameter %q: this group sends to its own chat only, which need not be named", tool, key)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no parameters, so none named %q", tool, key)
	}
	return fmt.Errorf("%s has no parameter %q; it has %s", tool, key, strings.Join(names, ", "))
}

// meant returns the one of a tool's parameters that models also call key.
func meant(key string, names []string) string {
	all := map[string]string{"path": "file_path", "file": "file_path", "filepath": "file_path", "filePath": "file_path",
		"filename": "file_name", "fileName": "file_name", "name": "file_name", "mimeType": "mime_type", "mimetype": "mime_type",
		"message": "text", "content": "text", "comment": "caption", "paths": "files", "file_paths": "files",
		"data": "content_base64", "base64": "content_base64", "type": "as", "replyTo": "reply_to", "thread_ts": "thread", "thread_id": "thread",
		"request_id": "id", "id": "message_id task_id", "messageId": "message_id", "target": "message_id", "taskId": "task_id",
		"reaction": "emoji", "options": "choices", "answers": "choices", "multiple": "several", "timeout": "wait_seconds",
		"cron": "schedule_value", "schedule": "schedule_value", "tz": "timezone", "time_zone": "timezone", "targetJid": "target_group_jid", "markdown": "text", "html": "text"}
	for name := range strings.FieldsSeq(all[key]) {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

func typeError(tool string, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := map[string]string{"string": "a string", "slice": "a list", "struct": "an object",
			"int": "a whole number", "bool": "true or false"}[wrong.Type.Kind().String()]
		return fmt.Errorf("%s: %s must be %s, not %s", tool, wrong.Field, want, article(wrong.Value))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("%s: a file has no field %s; it has as, caption, file_name, file_path, mime_type", tool, field)
	}
	return fmt.Errorf("%s: %w", tool, err)
}

func article(value string) string {
	value, _, _ = strings.Cut(value, " ") // "number 5" is a number
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// chooseStyle checks the parameter "as".
func chooseStyle(as string) error {
	styles := []string{"", "auto", "document", "voice", "gif", "sticker", "original"}
	if !slices.Contains(styles, as) {
		return &sender.Problem{Code: "invalid_argument", Message: fmt.Sprintf("as is %q", as),
			Hint: "it is one of " + strings.Join(styles[1:], ", ")}
	}
	return nil
}
