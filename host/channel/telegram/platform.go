package telegram

import (
	"fmt"
	"net"
	"regexp"
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
	platformKey  = "telegram"
	platformName = "Telegram" // for people
)

// account is what people are told of Telegram and its bots.
var account = bot.Kind{
	YAML: platformKey, People: platformName, Sentence: "A Telegram bot, by long polling or a webhook.", Tokens: "token of a Telegram bot",
	Chat: "tg: and the chat's number, such as tg:-1001234567890",
	Pair: "make a Telegram bot, check its token, and find a chat's id",
	PairLong: `telegram says how to get a bot from @BotFather while the channel has no token. Then
it checks the token, and waits two minutes for a message, whose chat's id it names. With
--to it sends a small file to a chat instead.`,
	Steps: `1. In Telegram, write /newbot to https://t.me/BotFather. It asks for a name and gives you the bot's token.
2. longshore.yaml holds ${NAME} and the environment the token: token of channels.CHANNEL. Or token_file names a file.
3. If the bot is to hear everything in groups, write /setprivacy to BotFather and choose Disable.
4. Run this command again.`,
}

// Platform returns Telegram for the host's table.
func Platform() channel.Platform { return platform{account} }

type platform struct{ bot.Kind }

func (platform) Owns(chat groups.JID) bool { return owns(chat) }

func (platform) Settings() channel.Settings {
	return &Settings{Server: publicServer, Listen: "127.0.0.1:8440", Rate: groups.Rate{PerMinute: 20, Burst: 5}}
}

// owns reports whether a chat is named by its number.
func owns(chat groups.JID) bool { return chat.Channel() == platformKey && idOf(chat) != 0 }

// idOf returns Telegram's number of a chat, 0 if it has none.
func idOf(chat groups.JID) int64 {
	id, err := strconv.ParseInt(strings.TrimPrefix(string(chat), "tg:"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func chatOf(id int64) groups.JID { return groups.JID("tg:" + strconv.FormatInt(id, 10)) }

const publicServer = "https://api.telegram.org"

var tokenForm = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{10,100}$`)

// Settings are a bot's part of longshore.yaml. Without a token the channel waits for it.
type Settings struct {
	Token     setting.Secret    `yaml:"token" restart:"true" help:"The bot's token, from the environment."`
	TokenFile string            `yaml:"token_file" restart:"true" help:"The file that holds the token."`
	Server    string            `yaml:"server" form:"url" restart:"true" help:"The Bot API server: scheme://host:port of one of your own, which takes larger files."`
	Webhook   string            `yaml:"webhook" form:"url" restart:"true" help:"The https address at which a proxy of yours takes updates from Telegram, instead of long polling."`
	Listen    string            `yaml:"listen" restart:"true" help:"host:port where the proxy passes them on to."`
	Depot     groups.JID        `yaml:"depot" restart:"true" help:"The chat that files are uploaded to before they are sent on: tg: and the number of a channel of your own."`
	Files     groups.KindLimits `yaml:"files" restart:"true" help:"Bytes per kind of file, instead of what Telegram takes."`
	Rate      groups.Rate       `yaml:"rate" help:"Messages to one chat."`
}

// ListensAt implements channel.ListenSettings. Without a webhook nothing listens.
func (s *Settings) ListensAt() string {
	if s.Webhook == "" {
		return ""
	}
	return s.Listen
}

// Check implements channel.Settings.
func (s *Settings) Check(c channel.Checker) {
	c.Secret("token", &s.Token, s.TokenFile)
	if t := s.Token.Reveal(); t != "" && !tokenForm.MatchString(t) {
		c.Bad("token", "this is no bot token", "take the one that @BotFather gives, digits, a colon and letters")
	}
	if s.Depot != "" && !owns(s.Depot) {
		c.Bad("depot", "this is no chat of Telegram", "write tg: and the chat's number, such as tg:-1001234567890")
	}
	if s.Webhook != "" && !strings.HasPrefix(s.Webhook, "https://") && !s.ownServer() {
		c.Bad("webhook", "Telegram takes https addresses alone", "write the address of your proxy, such as https://bot.example.org/telegram")
	}
	if _, port, err := net.SplitHostPort(s.Listen); err != nil || port == "" {
		c.Bad("listen", fmt.Sprintf("%q is no address to listen at", s.Listen), "write host:port, such as 127.0.0.1:8440")
	}
	if _, err := newAPI(s, nil); err != nil {
		c.Bad("server", err.Error(), "write scheme://host:port, such as http://127.0.0.1:8081")
	}
}

// What Telegram takes: https://core.telegram.org/bots/api#sending-files and sendMessage. Its
// apps play MP4 with H.264 (sendVideo, sendAnimation), and MP3 and M4A (sendAudio).
const (
	maxText    = 4096 // UTF-16 units
	maxCaption = 1024 // UTF-16 units
	maxFiles   = 10   // of an album
	maxPhoto   = 10 << 20
	maxUpload  = 50 << 20
	maxFetch   = 20 << 20
	maxLocal   = 2000 << 20 // either way, by a server of the operator's own

	maxChoices  = 12
	maxChoice   = 100 // UTF-16 units
	maxQuestion = 300 // UTF-16 units

	unsendable = 48 * time.Hour
)

// ownServer reports whether the Bot API server is the operator's own.
func (s *Settings) ownServer() bool { return strings.TrimSuffix(s.Server, "/") != publicServer }

// most returns how many bytes a file may have that has so many at most by the public server.
func (s *Settings) most(public int64) int64 {
	if s.ownServer() {
		return maxLocal
	}
	return public
}

// Limits implements channel.Settings.
func (s *Settings) Limits() media.Limits {
	most := s.most(maxUpload)
	l := media.Limits{Text: maxText, Unit: media.UTF16Shown, Markup: media.MarkupTelegram, Threads: true, LargeAsDocument: true,
		Files: maxFiles, LoopsAlone: true, Poll: media.PollLimit{Choices: maxChoices, Choice: maxChoice, Question: maxQuestion},
		Kinds: map[media.Kind]media.Limit{
			media.Image:    {Bytes: maxPhoto, Caption: maxCaption, Album: "seen", MIME: []string{"image/jpeg", "image/png", "image/webp"}},
			media.Video:    {Bytes: most, Caption: maxCaption, Album: "seen", MIME: []string{"video/mp4"}, Codecs: []string{"h264", "aac", "mp3"}},
			media.Audio:    {Bytes: most, Caption: maxCaption, Album: "audio", MIME: []string{"audio/mpeg", "audio/mp4"}, Codecs: []string{"aac", "mp3"}},
			media.Voice:    {Bytes: most, Caption: maxCaption, MIME: []string{"audio/ogg"}},
			media.Sticker:  {Bytes: media.MiB / 2, MIME: []string{"image/webp"}},
			media.Document: {Bytes: most, Caption: maxCaption, Album: "documents"},
		}}
	for kind, limit := range l.Kinds {
		if n, ok := s.Files[string(kind)]; ok {
			limit.Bytes = n
			l.Kinds[kind] = limit
		}
	}
	return l
}

// Rates implements bot.Rated.
func (s *Settings) Rates() pace.Rates {
	return pace.Rates{Chat: pace.Of(s.Rate), Account: pace.Rate{PerMinute: 25 * 60, Burst: 25}}
}
