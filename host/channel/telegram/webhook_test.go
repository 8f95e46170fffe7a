package telegram_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
)

func TestAWebhookTakesUpdatesWithItsSecretAloneAndGoesWithItsKey(t *testing.T) {
	w, in := newWorld(t), make(inbox, 1)
	set := w.setup.Settings.(*telegram.Settings)
	set.Webhook, set.Listen = "https://bot.example/telegram", "127.0.0.1:0"
	t.Run("with it", func(t *testing.T) {
		w.made(t).runTo(t, in)
		_, detail := w.ch.(channel.Status).Connected()
		_, address, _ := strings.Cut(detail, "takes updates at ")
		post := func(secret, host, body string) int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"telegram", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		url, secret := w.Hook()
		const update = `{"update_id":9,"message":{"message_id":5,"date":1,"from":{"id":77,"first_name":"Ada"},"chat":{"id":-1001,"type":"supergroup"},"text":"hello"}}`
		for _, tt := range []struct {
			secret, host, body string
			want               int
		}{
			{"another", "bot.example", update, 401}, {"", "bot.example", update, 401}, {secret, "evil.example", update, 421},
			{secret, "bot.example", "{", 400}, {secret, "bot.example", update, 200}, {secret, "bot.example", update, 200},
		} {
			if got := post(tt.secret, tt.host, tt.body); got != tt.want {
				t.Errorf("%q from %s: %d, want %d", tt.secret, tt.host, got, tt.want)
			}
		}
		if m := <-in; m.Text != "hello" || url != set.Webhook {
			t.Errorf("%+v by %s", m, url)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	set.Webhook = ""
	w.made(t).runTo(t, in)
	w.Tell("message", deskID, map[string]any{"from": ada, "text": "by polling"})
	if m := <-in; m.Text != "by polling" {
		t.Errorf("%+v", m)
	}
}
