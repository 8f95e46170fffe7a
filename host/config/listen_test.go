package config_test

import (
	"strings"
	"testing"
)

// TestRemoteAndAPushChannelHadOneAddress: both documents name 127.0.0.1:8430, and the later
// server did not start. No two servers of a host may have one address.
func TestRemoteAndAPushChannelHadOneAddress(t *testing.T) {
	const push = "channels: {push: {url: 'https://desk.example.org', secret: '${SECRET}'}}\n"
	const telegram = "channels: {telegram: {token: '${BOT}'}}\nremote: {listen: 127.0.0.1:8440}\n"
	for text, key := range map[string]string{
		push + "remote: {listen: 127.0.0.1:8430}\n":                                           "remote.listen",
		push + "remote: {listen: 'localhost:8430'}\n":                                         "remote.listen",
		push + "remote: {listen: ':8430', everywhere: true}\n":                                "remote.listen",
		push + "remote: {listen: 127.0.0.1:8431}\n":                                           "",
		push + "remote: {listen: '[::1]:8430'}\n":                                             "",
		push + "remote: {listen: 'unix:/run/remote.sock'}\n":                                  "",
		"metrics: {listen: '127.0.0.1:8420'}\n":                                               "metrics.listen",
		"metrics: {listen: '127.0.0.1:9000'}\noperator_page: {listen: '127.0.0.1:9000'}\n":    "operator_page.listen",
		"channels: {web: , two: {type: web}}\n":                                               "channels.two.listen",
		"channels: {web: {listen: '127.0.0.1:0'}, two: {type: web, listen: '127.0.0.1:0'}}\n": "",
		telegram: "", // it listens with a webhook only
		strings.Replace(telegram, "{token", "{webhook: 'https://bot.example.org', token", 1): "remote.listen",
	} {
		_, err := parse(t, configDir(t), text)
		if key == "" && err != nil || key != "" && (err == nil || !strings.Contains(err.Error(), ": "+key+": ") || !strings.Contains(err.Error(), "has the same address")) {
			t.Errorf("%s: %v, want a problem with %q", text, err, key)
		}
	}
}
