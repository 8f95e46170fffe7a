package markup

import "strings"

// slack is mrkdwn: https://api.slack.com/reference/surfaces/formatting. All that Slack
// would act on stands between < and >, such as <!channel>; here only links do.
var slack = dialect{
	width: 72, links: true,
	marks: marks{
		of:   map[Kind]string{Bold: "*", Italic: "_", Strike: "~", Mono: "`"},
		open: "```\n", close: "\n```",
		escape: strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),
	},
}
