package telegram

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// webhook is the address to which Telegram sends the bot's updates.
type webhook struct {
	URL   string `json:"url"` // empty: none
	Error string `json:"last_error_message"`
}

const (
	maxHook      = 16 << 20                          // bytes that Telegram may post
	hookFact     = "webhook"                         // the journal's key of the webhook that the host has set
	secretHeader = "X-Telegram-Bot-Api-Secret-Token" // of an update: the secret_token of setWebhook
)

// hooked takes updates that Telegram posts through the operator's proxy, until ctx is done. Each call
// makes a new secret.
func (t *Telegram) hooked(ctx context.Context, o *bot.Open, up func(string), detail string) error {
	secret := rand.Text() + rand.Text()
	l, err := httpd.Address{Listen: t.settings.Listen, Token: secret}.Open()
	if err != nil {
		return &link.Stop{Code: "telegram_stopped", Message: "updates cannot be taken", Hint: err.Error(), Wait: link.After(10 * time.Second)}
	}
	defer l.Close()
	if err := o.Journal.Note(ctx, hookFact, t.settings.Webhook); err != nil {
		return err
	}
	if err := t.api.Ask(ctx, "POST", "setWebhook", map[string]any{"url": t.settings.Webhook, "secret_token": secret, "allowed_updates": heard, "max_connections": 1}, nil); err != nil {
		return link.StopOf(err)
	}
	up(detail + "; takes updates at " + httpd.URL(l.Addr()))
	public, err := url.Parse(t.settings.Webhook)
	if err != nil {
		return err
	}
	guard := httpd.NewGuard(l.Addr(), "correct webhook in longshore.yaml", t.settings.Listen, public.Hostname())
	handler := guard.Posts(http.StatusOK, func(rw http.ResponseWriter, r *http.Request) *httpd.Problem { return t.take(rw, r, o, secret) })
	return (&httpd.Server{Handler: handler, Log: t.Log, Grace: 5 * time.Second}).Serve(ctx, l)
}

// take answers an update once it is durable. Telegram repeats an update without an answer.
func (t *Telegram) take(rw http.ResponseWriter, r *http.Request, o *bot.Open, secret string) *httpd.Problem {
	if !httpd.Same(r.Header.Get(secretHeader), secret) {
		return httpd.Refuse(http.StatusUnauthorized, "bad_secret", "this takes updates from Telegram alone", "")
	}
	raw, problem := httpd.ReadAll(rw, r, maxHook)
	if problem != nil {
		return problem
	}
	if !json.Valid(raw) {
		return httpd.Refuse(http.StatusBadRequest, "bad_update", "this is no update", "")
	}
	if _, err := t.keep(r.Context(), o, raw); err != nil {
		t.Log.Warn("keep an update", "error", err)
		return httpd.Refuse(http.StatusServiceUnavailable, "not_kept", "the update cannot be kept now", "")
	}
	return nil
}

// unhook deletes the webhook that this host has set before, unless another one is set now.
func (t *Telegram) unhook(ctx context.Context, j *journal.Journal) error {
	ours, err := j.Noted(ctx, hookFact)
	if err != nil || ours == "" {
		return err
	}
	var now webhook
	err = t.api.Ask(ctx, "POST", "getWebhookInfo", struct{}{}, &now)
	if err == nil && now.URL == ours {
		err = t.api.Ask(ctx, "POST", "deleteWebhook", struct{}{}, nil)
	}
	if err != nil {
		return err
	}
	return j.Unnote(ctx, hookFact)
}

// examineWebhook returns what is wrong with the webhook; empty: nothing.
func (t *Telegram) examineWebhook(ctx context.Context, running bool) (severity finding.Severity, message, remedy string) {
	var now webhook
	err := t.api.Ask(ctx, "POST", "getWebhookInfo", struct{}{}, &now)
	ours := t.settings.Webhook
	switch {
	case err != nil:
		return finding.Warning, "the bot's webhook: " + err.Error(), channel.HintOf(err)
	case now.URL != "" && ours == "" && !running:
		return finding.Fault, "a webhook is set: another program takes the bot's messages", "stop the other program and have it delete its webhook; each host needs a bot of its own. A webhook of this host's goes when it starts"
	case now.URL != "" && now.URL != ours:
		return finding.Fault, "another webhook is set: another program takes the bot's messages", "stop the other program; each host needs a bot of its own"
	case ours != "" && now.Error != "":
		return finding.Warning, "Telegram cannot deliver to the webhook: " + channel.CleanName(now.Error), "see whether the proxy passes " + ours + " on to " + t.settings.Listen
	}
	return "", "", ""
}
