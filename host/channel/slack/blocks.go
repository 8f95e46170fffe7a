package slack

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// node is a part of a message: a block, an element of rich text, a text, an attachment.
// docs.slack.dev, Block Kit, has their kinds. One of another kind shows the fields that
// these have, or at least its kind.
type node map[string]any

func (n node) str(key string) string {
	s, _ := n[key].(string)
	return s
}

func (n node) in(key string) node {
	m, _ := n[key].(map[string]any)
	return m
}

func (n node) all(key string) []any {
	l, _ := n[key].([]any)
	return l
}

// label is a text that stands in the node as it is, or as an object.
func (n node) label(key string) string { return cmp.Or(n.str(key), n.in(key).str("text")) }

// id is a field that is an id or a ts; empty if it is none.
func (n node) id(key string) string {
	if s := n.str(key); slackID.MatchString(s) || timestamp.MatchString(s) {
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

// escape makes a text Slack's, as Slack does with what members write.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// hyperlink is an address with a label, which may be empty, in Slack's form.
func hyperlink(address, label string) string {
	if address == "" {
		return escape.Replace(label)
	}
	return "<" + escape.Replace(strings.ReplaceAll(address, "|", "%7C")) + "|" + escape.Replace(label) + ">"
}

// join is the texts that are not empty, with something between them.
func join(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), between)
}

// quoteLines marks the lines of a text as somebody else's.
func quoteLines(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// reader makes texts in Slack's form of blocks, and collects the files that they show.
type reader struct {
	files []file
	depth int
}

// message is what a message's text and blocks say. Slack's apps repeat in the text what
// is in rich text, and nothing else.
func (r *reader) message(text string, blocks any) string {
	all := []string{text}
	list, _ := blocks.([]any)
	for _, one := range list {
		b, _ := one.(map[string]any)
		if words := r.words(one); text == "" || b["type"] != "rich_text" && !strings.Contains(text, words) {
			all = append(all, words)
		}
	}
	return join("\n", all...)
}

// attached is what an attachment says, which may be a whole message.
func (r *reader) attached(a node) string {
	for _, one := range a.all("files") {
		var f file
		if text, err := json.Marshal(one, lenient); err == nil && json.Unmarshal(text, &f) == nil {
			r.files = append(r.files, f)
		}
	}
	title, blocks := a.str("title"), a["blocks"]
	if to := a.str("title_link"); to != "" {
		title = hyperlink(to, unescape.Replace(title))
	}
	for _, one := range a.all("message_blocks") {
		of, _ := one.(map[string]any)
		blocks = node(of).in("message")["blocks"]
	}
	all := []string{a.str("pretext"), title, r.message(a.str("text"), blocks)}
	for _, one := range a.all("fields") {
		of, _ := one.(map[string]any)
		all = append(all, join(": ", node(of).str("title"), node(of).str("value")))
	}
	if text := join("\n", append(all, a.str("footer"))...); text != "" || len(r.files) > 0 {
		return text
	}
	return cmp.Or(a.str("fallback"), hyperlink(a.str("image_url"), ""))
}

// words are what a part of a message says.
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
	case map[string]any:
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

// inline is an element of rich text, or another part of a line.
func (r *reader) inline(n node) (string, bool) {
	switch n.str("type") {
	case "mrkdwn":
		return n.str("text"), true
	case "text":
		return styled(escape.Replace(n.str("text")), n.in("style")), true
	case "user", "canvas_user_mention":
		return "<@" + escape.Replace(n.str("user_id")) + ">", true
	case "channel":
		return "<#" + escape.Replace(n.str("channel_id")) + ">", true
	case "usergroup", "team": // Slack tells no name
		id := escape.Replace(n.str("usergroup_id") + n.str("team_id"))
		return "<!subteam^" + id + "|@" + id + ">", true
	case "broadcast":
		return "<!" + escape.Replace(n.str("range")) + ">", true
	case "emoji":
		return ":" + escape.Replace(n.str("name")) + ":", true
	case "date":
		seconds, _ := n["timestamp"].(float64)
		return hyperlink(n.str("url"), cmp.Or(n.str("fallback"), time.Unix(int64(min(seconds, 1<<36)), 0).UTC().Format(time.RFC3339))), true
	case "image":
		in, label := n.in("slack_file"), cmp.Or(n.label("title"), n.str("alt_text"))
		if id := in.id("id"); id != "" {
			r.files = append(r.files, file{ID: id, Title: label, URL: in.str("url")})
			return escape.Replace(label), true
		}
		return hyperlink(cmp.Or(n.str("image_url"), in.str("url")), label), true
	}
	address := cmp.Or(n.str("url"), n.str("title_url"), n.str("video_url"), n.str("join_url"))
	if address == "" {
		return "", false
	}
	return join("\n", hyperlink(address, cmp.Or(n.label("text"), n.label("title"), n.str("name"))), r.words(n["description"])), true
}

func styled(text string, style node) string {
	for _, mark := range []struct{ name, mark string }{{"code", "`"}, {"strike", "~"}, {"italic", "_"}, {"bold", "*"}} {
		if style[mark.name] == true && strings.TrimSpace(text) != "" {
			text = mark.mark + text + mark.mark
		}
	}
	return text
}

// block is a part that has lines of its own.
func (r *reader) block(n node) string {
	elements := n.all("elements")
	var all []string
	switch kind := n.str("type"); kind {
	case "divider":
		return ""
	case "rich_text_section":
		return r.list("", elements)
	case "rich_text_quote":
		return quoteLines(r.list("", elements))
	case "rich_text_preformatted":
		return "```\n" + r.list("", elements) + "\n```"
	case "rich_text_list":
		before, _ := n["offset"].(float64)
		indent, _ := n["indent"].(float64)
		for i, e := range elements {
			mark := "• "
			if n["style"] == "ordered" {
				mark = strconv.Itoa(int(before)+i+1) + ". "
			}
			all = append(all, strings.Repeat("    ", int(max(0, min(indent, maxDepth))))+mark+r.words(e))
		}
	case "table", "data_table":
		all = append(all, r.words(n["caption"]))
		for _, row := range n.all("rows") {
			cells, _ := row.([]any)
			all = append(all, r.list(" | ", cells))
		}
	case "call":
		return r.words(map[string]any(n.in("call").in("v1")))
	default:
		for field := range strings.FieldsSeq(readFields) {
			all = append(all, r.words(n[field]))
		}
		if accessory := n.in("accessory"); accessory["type"] == "image" {
			all = append(all, r.words(map[string]any(accessory)))
		}
		if text := join("\n", all...); text != "" || kind == "" {
			return text
		}
		return "[" + toldAs(kind) + "]"
	}
	return join("\n", all...)
}
