package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// Transcription is one way to turn voice notes into text.
type Transcription struct {
	URL      string   `yaml:"url" form:"url" help:"Service that speaks OpenAI's POST /v1/audio/transcriptions, whole, such as http://127.0.0.1:8000/v1/audio/transcriptions."`
	Model    string   `yaml:"model" form:"label" help:"The service's model."`
	Language string   `yaml:"language" form:"label" help:"Language of the voice notes, such as en, if the service should not find out."`
	Key      Secret   `yaml:"key" help:"The service's key, as ${NAME}."`
	KeyFile  string   `yaml:"key_file" help:"File that holds the key."`
	Command  []string `yaml:"command" private:"true" help:"Program and arguments, instead of url. {file} stands for the sound, {wav} for the same as 16 kHz mono WAV. No shell. Its standard output is the transcript."`
	Timeout  Duration `yaml:"timeout" above:"0" max:"10m" help:"After which the next entry is tried."`
}

// SetDefaults fills in what an absent key means.
func (t *Transcription) SetDefaults() { *t = Transcription{Timeout: Duration(time.Minute)} }

// transcription checks that each entry names one way, and reads the keys.
func (c *checker) transcription() {
	for i := range c.cfg.Transcription {
		t, key := &c.cfg.Transcription[i], fmt.Sprintf("transcription[%d]", i)
		switch {
		case (t.URL == "") == (len(t.Command) == 0):
			c.bad(key, "an entry has a url or a command", "write one of the two, and a further entry for another way")
			continue
		case t.URL != "":
			c.token(key+".key", &t.Key, t.KeyFile)
			c.service(key+".url", t)
			continue
		}
		if !slices.ContainsFunc(t.Command[1:], func(arg string) bool { return strings.Contains(arg, "{file}") || strings.Contains(arg, "{wav}") }) {
			c.bad(key+".command", "no argument stands for the sound", `write {file} or {wav} where the program takes a file's name, such as ["whisper-cli", "-m", "/srv/model.bin", "-f", "{wav}"]`)
		}
		if c.cfg.MediaTools == "off" {
			c.bad(key+".command", "media_tools is off, so no program reads members' files", "set media_tools: confined, or leave the entry out")
		}
	}
}

// service checks a service's address. The key goes there, and nothing secret is in it.
func (c *checker) service(key string, t *Transcription) {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Host == "":
		c.bad(key, "this is no web address", "write it whole, such as http://127.0.0.1:8000/v1/audio/transcriptions")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.bad(key, "the address holds more than host and path", "put the secret into key, and leave the rest out")
	case u.Scheme == "http" && !httpd.Loopback(u.Hostname()):
		c.warn(key, "voice notes and the key go over the network unencrypted", "use https, or a service on this machine")
	}
}
