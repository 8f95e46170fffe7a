package slack

import (
	_ "embed"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/media"
)

const (
	platformKey  = "slack"
	platformName = "Slack" // for people
)

// Net is where Slack is, which only tests set.
type Net struct {
	API string // the address of its Web API, with a slash at its end
}

// Manifest is the app's, to be pasted at api.slack.com/apps.
//
//go:embed manifest.yaml
var Manifest string

// account is what people are told of Slack and its apps.
var account = bot.Kind{
	YAML: platformKey, People: platformName, Sentence: "An app in a Slack workspace, by Socket Mode.", Tokens: "tokens of a Slack app",
	Chat: "slack: and the channel's id, such as slack:C024BE91L",
	Pair: "make a Slack app, check its tokens, and send a test file",
	PairLong: `slack prints what to paste at api.slack.com/apps while the channel has no tokens.
Then it checks both tokens and every permission of the app. With --to it sends a
small file to a chat; longshore groups list shows those that the app is in.`,
	Steps: `1. At https://api.slack.com/apps choose Create New App, From a manifest, your workspace, YAML, and paste:

` + Manifest + `
2. Install the app. Its bot token, xoxb-…, is under OAuth & Permissions: bot_token of channels.CHANNEL.
3. Under Basic Information, App-Level Tokens, make one with connections:write, xapp-…: app_token.
   longshore.yaml holds ${NAME} and the environment the token, or bot_token_file and app_token_file name files.
4. Run this command again.`,
}

// Platform returns Slack for the host's table.
func Platform(net Net) channel.Platform { return platform{account, net} }

type platform struct {
	bot.Kind
	net Net
}

func (platform) Owns(chat groups.JID) bool { return decode.Owns(chat) }

func (platform) Settings() channel.Settings {
	return &Settings{Rate: groups.Rate{PerMinute: 60, Burst: 5}}
}

// Settings are an app's part of longshore.yaml. Without tokens the channel waits
// for them: "longshore pair slack" says how to get them.
type Settings struct {
	BotToken     setting.Secret    `yaml:"bot_token" restart:"true" help:"The app's bot token, xoxb-…, from the environment."`
	BotTokenFile string            `yaml:"bot_token_file" restart:"true" help:"The file that holds the bot token."`
	AppToken     setting.Secret    `yaml:"app_token" restart:"true" help:"The app-level token, xapp-…, from the environment."`
	AppTokenFile string            `yaml:"app_token_file" restart:"true" help:"The file that holds the app-level token."`
	Files        groups.KindLimits `yaml:"files" restart:"true" help:"Bytes per kind of file, instead of what Slack takes."`
	Rate         groups.Rate       `yaml:"rate" help:"Messages to one chat."`
}

// Check implements channel.Settings.
func (s *Settings) Check(c channel.Checker) {
	c.Secret("bot_token", &s.BotToken, s.BotTokenFile)
	c.Secret("app_token", &s.AppToken, s.AppTokenFile)
	if t := s.BotToken.Reveal(); t != "" && !strings.HasPrefix(t, "xoxb-") {
		c.Bad("bot_token", "this is no bot token", "take the one that begins with xoxb- under OAuth & Permissions of the app")
	}
	if t := s.AppToken.Reveal(); t != "" && !strings.HasPrefix(t, "xapp-") {
		c.Bad("app_token", "this is no app-level token", "take the one that begins with xapp- under Basic Information of the app")
	}
}

// What Slack takes: docs.slack.dev, files.completeUploadExternal and
// chat.postMessage, which advises 4,000 of its 40,000 characters.
const (
	maxFiles = 14
	maxFile  = 1 << 30 // bytes
	maxText  = 4000    // characters, of a caption too
)

// Limits implements channel.Settings.
func (s *Settings) Limits() media.Limits {
	return media.Limits{Kinds: bot.FileLimits(maxFile, maxText, s.Files), Text: maxText, Markup: media.MarkupSlack, Files: maxFiles, Threads: true,
		Poll: media.PollLimit{Choices: decode.MaxChoices, Choice: maxChoice, Question: maxQuestion}}
}

// Rates implements bot.Rated.
func (s *Settings) Rates() pace.Rates { return pace.Rates{Chat: pace.Of(s.Rate)} }
