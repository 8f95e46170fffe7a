package markup

// again is Markdown, for an assistant that reads what it wrote as one of several messages.
// [Parse] makes the same of it on every platform.
var again = dialect{
	marks: marks{
		of:     map[Kind]string{Bold: "**", Italic: "*", Strike: "~~", Mono: "`"},
		beside: map[Kind]string{Bold: "**", Italic: "*", Strike: "~~", Mono: "`"},
		open:   "```\n", close: "\n```", coloured: true,
		backslashed: "\\*_~`|<[&", lineStart: "#->+=",
		masked: true,
	},
}
