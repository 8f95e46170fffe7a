package markup

// whatsApp is what https://faq.whatsapp.com/539178204879377 describes. Lists and numbers
// need no form of their own. Addresses become links by themselves; words never do.
var whatsApp = dialect{
	width: 32, // a phone held upright shows about so many characters
	marks: marks{
		of:   map[Kind]string{Bold: "*", Italic: "_", Strike: "~", Mono: "`"},
		open: "```", close: "```",
	},
}
