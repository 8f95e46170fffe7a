package decode

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// node is a part of a message: a block, an element of rich text, a text, an attachment.
// docs.slack.dev, Block Kit, lists their kinds. A node of an unknown kind shows the fields that
// known kinds have, or at least its kind.
type node = map[string]any

// get returns a field, or zero if it has another form.
func get[T any](n node, field string) T {
	v, _ := n[field].(T)
	return v
}

func nodes(list any) (all []node) {
	some, _ := list.([]any)
	for _, one := range some {
		n, _ := one.(node)
		all = append(all, n)
	}
	return all
}

// label returns a text that is a string of the node, or the text of an object in it.
func label(n node, field string) string {
	return cmp.Or(get[string](n, field), get[string](get[node](n, field), "text"))
}

// idIn returns a field that has the form of an id or a ts; else nothing.
func idIn(n node, field string) string {
	if s := get[string](n, field); slackID.MatchString(s) || timestamp.MatchString(s) {
		return s
	}
	return ""
}

const (
	maxDepth = 20 // of parts in parts; deeper ones are not shown

	// readFields are those that members read, in their order.
	readFields = "rich_text_title title name caption label subtitle text body description fields value elements segments series data chart rows items block child_blocks " +
		"tasks details output sources subtext hint element hero_image"
)

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// Escape escapes a text as Slack does with what members write, and Unescape reads such a text.
func Escape(text string) string   { return escape.Replace(text) }
func Unescape(text string) string { return unescape.Replace(text) }

// hyperlink returns an address and a text, either of which may be empty, in Slack's form.
func hyperlink(address, text string) string {
	if address == "" {
		return escape.Replace(text)
	}
	return "<" + escape.Replace(strings.ReplaceAll(address, "|", "%7C")) + "|" + escape.Replace(text) + ">"
}

// join joins the texts that are not empty.
func join(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), between)
}

// quoteLines marks the lines of a text as quoted.
func quoteLines(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// reader makes texts in Slack's form of blocks, and collects the files that they show.
type reader struct {
	files []File
	depth int
}

// message returns what a message's text and blocks say. The text repeats rich text, and no other
// blocks.
func (r *reader) message(text string, blocks any) string {
	all := []string{text}
	for _, b := range nodes(blocks) {
		if words := r.words(b); text == "" || b["type"] != "rich_text" && !strings.Contains(text, words) {
			all = append(all, words)
		}
	}
	return join("\n", all...)
}

// attached returns what an attachment says, which may be a whole message.
func (r *reader) attached(a node) string {
	r.files = FilesOf(a["files"])
	title, blocks := get[string](a, "title"), a["blocks"]
	if to := get[string](a, "title_link"); to != "" {
		title = hyperlink(to, unescape.Replace(title))
	}
	for _, of := range nodes(a["message_blocks"]) {
		blocks = get[node](of, "message")["blocks"]
	}
	all := []string{get[string](a, "pretext"), title, r.message(get[string](a, "text"), blocks)}
	for _, f := range nodes(a["fields"]) {
		all = append(all, join(": ", get[string](f, "title"), get[string](f, "value")))
	}
	if text := join("\n", append(all, get[string](a, "footer"))...); text != "" || len(r.files) > 0 {
		return text
	}
	return cmp.Or(get[string](a, "fallback"), hyperlink(get[string](a, "image_url"), ""))
}

// words returns what a part of a message says.
func (r *reader) words(part any) string {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return "…"
	}
	switch p := part.(type) {
	case string:
		return escape.Replace(unescape.Replace(p))
	case float64:
		return strconv.FormatFloat(p, 'f', -1, 64)
	case []any:
		return r.list("\n", p)
	case node:
		if text, ok := r.inline(p); ok {
			return text
		}
		return r.block(p)
	}
	return ""
}

func (r *reader) list(between string, parts []any) string {
	var all []string
	for _, p := range parts {
		all = append(all, r.words(p))
	}
	return join(between, all...)
}

// inline returns what a node says that is a part of a line; false if the node is none.
func (r *reader) inline(n node) (string, bool) {
	id := func(field string) string { return escape.Replace(get[string](n, field)) }
	switch n["type"] {
	case "mrkdwn":
		return get[string](n, "text"), true
	case "text":
		return styled(id("text"), get[node](n, "style")), true
	case "user", "canvas_user_mention":
		return "<@" + id("user_id") + ">", true
	case "channel":
		return "<#" + id("channel_id") + ">", true
	case "usergroup", "team": // Slack tells no name
		return "@" + id("usergroup_id") + id("team_id"), true
	case "broadcast":
		return "<!" + id("range") + ">", true
	case "emoji":
		return ":" + id("name") + ":", true
	case "date":
		at := time.Unix(int64(min(get[float64](n, "timestamp"), 1<<36)), 0).UTC()
		return hyperlink(get[string](n, "url"), cmp.Or(get[string](n, "fallback"), at.Format(time.RFC3339))), true
	case "image":
		in, text := get[node](n, "slack_file"), cmp.Or(label(n, "title"), get[string](n, "alt_text"))
		if id := idIn(in, "id"); id != "" {
			r.files = append(r.files, File{ID: id, Title: text, URL: get[string](in, "url")})
			return escape.Replace(text), true
		}
		return hyperlink(cmp.Or(get[string](n, "image_url"), get[string](in, "url")), text), true
	}
	address := cmp.Or(get[string](n, "url"), get[string](n, "title_url"), get[string](n, "video_url"), get[string](n, "join_url"))
	if address == "" { // block reads the description
		return "", false
	}
	return join("\n", hyperlink(address, cmp.Or(label(n, "text"), label(n, "title"), label(n, "name"))), r.words(n["description"])), true
}

func styled(text string, style node) string {
	for _, mark := range [][2]string{{"code", "`"}, {"strike", "~"}, {"italic", "_"}, {"bold", "*"}} {
		if style[mark[0]] == true && strings.TrimSpace(text) != "" {
			text = mark[1] + text + mark[1]
		}
	}
	return text
}

// block returns what a node says that has lines of its own.
func (r *reader) block(n node) string {
	elements := get[[]any](n, "elements")
	var all []string
	switch kind := get[string](n, "type"); kind {
	case "divider":
	case "rich_text_section":
		return r.list("", elements)
	case "rich_text_quote":
		return quoteLines(r.list("", elements))
	case "rich_text_preformatted":
		return "```\n" + r.list("", elements) + "\n```"
	case "rich_text_list":
		indent := strings.Repeat("    ", int(max(0, min(get[float64](n, "indent"), maxDepth))))
		for i, e := range elements {
			mark := "• "
			if n["style"] == "ordered" {
				mark = strconv.Itoa(int(get[float64](n, "offset"))+i+1) + ". "
			}
			all = append(all, indent+mark+r.words(e))
		}
	case "table", "data_table":
		all = append(all, r.words(n["caption"]))
		for _, row := range get[[]any](n, "rows") {
			cells, _ := row.([]any)
			all = append(all, r.list(" | ", cells))
		}
	case "call":
		return r.words(get[node](get[node](n, "call"), "v1"))
	default:
		for field := range strings.FieldsSeq(readFields) {
			all = append(all, r.words(n[field]))
		}
		if of := get[node](n, "accessory"); of["type"] == "image" { // others are buttons and the like
			all = append(all, r.words(of))
		}
		if text := join("\n", all...); text != "" || kind == "" {
			return text
		}
		return "[" + toldAs(kind) + "]"
	}
	return join("\n", all...)
}
