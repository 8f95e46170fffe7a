package discord

import (
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/media"
)

const (
	platformKey  = "discord"
	platformName = "Discord" // for people
)

// Net is where Discord is, which only tests set.
type Net struct {
	API string // the address of its HTTP API with the version, and a slash at its end
}

// account is what people are told of Discord and its bots.
var account = bot.Kind{
	YAML: platformKey, People: platformName, Sentence: "A bot on a Discord server, by its gateway.", Tokens: "token of a Discord bot",
	Chat: "dc: and the channel's id, such as dc:1234567890",
	Pair: "make a Discord bot, check its token, and send a test file",
	PairLong: `discord says how to make a bot while the channel has no token. Then it checks the token
and what the bot may hear, prints the link that invites it with exactly the rights that
it needs, and lists the channels that it sees. With --to it sends a small file to one.`,
	Steps: `1. At https://discord.com/developers/applications choose New Application.
2. Under Bot, switch on Message Content Intent and, to hear who joins and leaves, Server Members Intent.
3. There, choose Reset Token: bot_token of channels.CHANNEL. longshore.yaml holds ${NAME} and the
   environment the token, or bot_token_file names a file.
4. Run this command again.`,
}

// Platform returns Discord for the host's table.
func Platform(net Net) channel.Platform { return platform{account, net} }

type platform struct {
	bot.Kind
	net Net
}

func (platform) Owns(chat groups.JID) bool { return owns(chat) }

func (platform) Settings() channel.Settings {
	return &Settings{Rate: groups.Rate{PerMinute: 60, Burst: 5}}
}

// owns reports whether a chat is a channel or a direct message of Discord.
func owns(chat groups.JID) bool { return chat.Channel() == platformKey && isID(idOf(chat)) }

// idOf returns Discord's id of a chat, and chatOf the chat of an id.
func idOf(chat groups.JID) string { return strings.TrimPrefix(string(chat), "dc:") }
func chatOf(id string) groups.JID { return groups.JID("dc:" + id) }

// isID reports whether id has the form of Discord's ids, snowflakes: a number of 64 bits that
// begins with a time in ms: discord.com/developers/docs/reference, Snowflakes.
func isID(id string) bool {
	n, err := strconv.ParseUint(id, 10, 63)
	return err == nil && n > 0 && id[0] != '0'
}

// epoch is the first millisecond of 2015, from which snowflakes count.
const epoch = 1420070400000

func timeOf(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 63)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + epoch)
}

// idAt returns the first id of a time.
func idAt(t time.Time) string { return strconv.FormatInt(max(1, t.UnixMilli()-epoch)<<22, 10) }

// Settings are a bot's part of longshore.yaml. Without a token the channel waits for one.
type Settings struct {
	BotToken     setting.Secret    `yaml:"bot_token" restart:"true" help:"The bot's token, from the environment."`
	BotTokenFile string            `yaml:"bot_token_file" restart:"true" help:"The file that holds the bot's token."`
	BoostLevel   int               `yaml:"boost_level" restart:"true" help:"The boost level of the server, 0 to 3: it takes larger files from level 2 on."`
	Files        groups.KindLimits `yaml:"files" restart:"true" help:"Bytes per kind of file, instead of what Discord takes."`
	Rate         groups.Rate       `yaml:"rate" help:"Messages to one chat."`
}

// Check implements channel.Settings.
func (s *Settings) Check(c channel.Checker) {
	c.Secret("bot_token", &s.BotToken, s.BotTokenFile)
	if t := s.BotToken.Reveal(); t != "" && strings.Count(t, ".") != 2 {
		c.Bad("bot_token", "this is no bot token", "take the one under Bot of the application at discord.com/developers; it has two dots")
	}
	if s.BoostLevel < 0 || s.BoostLevel > 3 {
		c.Bad("boost_level", "there is no such level", "write 0, 1, 2 or 3")
	}
}

// What Discord takes: discord.com/developers/docs, Create Message and Uploading Files. It does not
// say how it counts characters; UTF-16 is the most that they can be.
const (
	maxFiles = 10
	maxText  = 2000
)

// perBoost are the bytes of a file at each boost level of a server.
var perBoost = []int64{10 * media.MiB, 10 * media.MiB, 50 * media.MiB, 100 * media.MiB}

// Limits implements channel.Settings.
func (s *Settings) Limits() media.Limits {
	l := media.Limits{Kinds: bot.FileLimits(perBoost[max(0, min(s.BoostLevel, 3))], maxText, s.Files), Text: maxText, Unit: media.UTF16, Markup: media.MarkupDiscord, Files: maxFiles, Threads: true,
		Poll: media.PollLimit{Choices: maxChoices, Choice: maxChoice, Question: maxQuestion}}
	l.Kinds[media.Voice] = media.Limit{Bytes: l.Kinds[media.Voice].Bytes, MIME: []string{"audio/ogg"}} // a message of its own, without text
	return l
}

// Rates implements bot.Rated.
func (s *Settings) Rates() pace.Rates { return pace.Rates{Chat: pace.Of(s.Rate)} }
