package markup

// discord is https://support.discord.com/hc/en-us/articles/210298617. A backslash makes
// all that it would act on, such as <@1> and <t:1>, text. The addresses of links stand
// between < and >, so that they get no previews. An underscore beside a letter is no mark, and
// a star is: https://github.com/Khan/simple-markdown, from which Discord's own rules come.
var discord = dialect{
	width: 60, links: true,
	marks: marks{
		of:     map[Kind]string{Bold: "**", Italic: "_", Strike: "~~", Mono: "`"},
		beside: map[Kind]string{Bold: "**", Italic: "*", Strike: "~~", Mono: "`"},
		open:   "```\n", close: "\n```", coloured: true,
		backslashed: "\\*_~`|<[", lineStart: "#->",
		masked: true,
	},
}
