package discord

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

const apiURL = "https://discord.com/api/v10/"

// lenient reads half a character as U+FFFD.
var lenient = jsontext.AllowInvalidUTF8(true)

// api is the client of Discord's HTTP API. It sends nothing to other hosts.
type api struct {
	*webapi.API // and of the gateway
	token       string
	files       *http.Client // to the file server, which wants no token
	test        string       // the test's server, which is all of Discord; else empty
}

func newAPI(set *Settings, net Net, clock transfer.Clock) (*api, error) {
	a := &api{token: set.BotToken.Reveal()}
	var err, noFiles error
	if a.API, err = webapi.New(platformName, cmp.Or(net.API, apiURL), transfer.Options{Hosts: []string{"discord.com", ".discord.gg"}}.At(net.API), dialect{}, clock); err == nil {
		a.Client.Transport = &limits{Transport: transfer.Transport{RoundTripper: a.Client.Transport}, base: a.Base}
		a.Header = http.Header{"Authorization": {"Bot " + a.token}, "User-Agent": {userAgent()}}
	}
	files := transfer.Options{Hosts: []string{"cdn.discordapp.com", "media.discordapp.net"}}.At(net.API)
	if len(files.Origins) > 0 {
		a.test = files.Origins[0]
	}
	a.files, noFiles = transfer.New(files)
	return a, errors.Join(err, noFiles)
}

// at returns the address of a file. Of a sticker the channel keeps only the path:
// discord.com/developers/docs/reference, CDN Endpoints.
func (a *api) at(address string) string {
	if !strings.HasPrefix(address, "/") {
		return address
	}
	return cmp.Or(a.test, map[string]string{".png": "https://cdn.discordapp.com", ".gif": "https://media.discordapp.net"}[path.Ext(address)]) + address
}

// userAgent has the form that Discord requires of bots: discord.com/developers/docs/reference,
// User Agent. Discord may block a bot without it.
func userAgent() string {
	version := "0"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = strings.Trim(info.Main.Version, "()")
	}
	return "DiscordBot (https://github.com/longshore-bridge/longshore, " + version + ")"
}

// nobody is whom our messages mention.
var nobody = map[string]any{"parse": []string{}, "replied_user": false}

// dialect is how Discord answers.
type dialect struct{}

// Rows implements webapi.Dialect.
func (dialect) Rows() []channel.Row { return known }

// Read implements webapi.Dialect.
func (dialect) Read(a *transfer.Answer, out any) error {
	if a.Status/100 == 2 {
		if out == nil {
			return nil
		}
		return json.Unmarshal(a.Body, out, lenient)
	}
	var said struct {
		Code       int     `json:"code"`
		Message    string  `json:"message"`
		RetryAfter float64 `json:"retry_after"`
	}
	_ = json.Unmarshal(a.Body, &said, lenient) // what is not JSON is not Discord's own
	return &webapi.Word{Code: said.Code, Said: said.Message, Whole: string(a.Body), Wait: cmp.Or(seconds(fmt.Sprint(said.RetryAfter)), seconds(a.Header.Get("Retry-After")))}
}

// Close implements bot.Paired.
func (d *Discord) Close() {
	d.api.Client.CloseIdleConnections()
	d.api.files.CloseIdleConnections()
}
