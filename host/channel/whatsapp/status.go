package whatsapp

import (
	"errors"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
)

// probeEvery is how often a stopped channel checks whether it was paired.
const probeEvery = 2 * time.Second

// The reasons for which the channel stays down until an operator acts.
// docs/whatsapp.md explains each.
var (
	stopNotPaired = link.Stop{Code: "whatsapp_not_paired", Message: "no WhatsApp account is linked",
		Hint: "link one with `" + pairWhatsApp + "`"}
	stopLoggedOut = link.Stop{Code: "whatsapp_logged_out", Message: "the WhatsApp account has removed this device",
		Hint: "link it again with `" + pairWhatsApp + "`; if the phone says that the account is banned, do not"}
	stopReplaced = link.Stop{Code: "whatsapp_replaced", Message: "another program has connected with this device's keys",
		Hint: "find and stop the other host that uses a copy of the store directory, then restart this one"}
	stopOutdated = link.Stop{Code: "whatsapp_outdated", Message: "WhatsApp no longer takes this version of the client",
		Hint: "update the host; docs/whatsapp.md says how to update whatsmeow"}
	stopBanned = link.Stop{Code: "whatsapp_banned", Message: "WhatsApp has banned the account for a while",
		Hint: "look into the phone's app, wait until the ban is over, then restart the host; send less"}
	stopRefused = link.Stop{Code: "whatsapp_refused", Message: "WhatsApp refuses the connection",
		Hint: "look into the phone's app and the host's log, then restart the host"}
	stopLocked = link.Stop{Code: "whatsapp_in_use", Message: "another process uses the WhatsApp device",
		Hint: "stop it; the host takes over by itself"}
)

// withDetail adds WhatsApp's own words to a stop.
func withDetail(s link.Stop, detail string) *link.Stop {
	s.Detail = detail
	return &s
}

// pairCommand returns the command that links this channel's account.
func (w *WhatsApp) pairCommand() string {
	if w.opts.Name == platformKey {
		return pairWhatsApp
	}
	return pairWhatsApp + " " + w.opts.Name
}

const (
	platformKey  = "whatsapp"
	pairWhatsApp = "longshore pair " + platformKey
)

// withRemedy completes a stop in err: with what ends its wait besides a Pair of
// this process, and with the command that pairs this channel.
func (w *WhatsApp) withRemedy(err error) error {
	if stop, ok := errors.AsType[*link.Stop](err); ok {
		stop.Hint = strings.Replace(stop.Hint, pairWhatsApp, w.pairCommand(), 1)
		switch stop.Code {
		case stopLocked.Code:
			stop.Wait = link.After(w.probe)
		case stopNotPaired.Code, stopLoggedOut.Code:
			stop.Wait = device.Pairing{Spec: w.spec(), Every: w.probe}
		}
	}
	return err
}

// until returns words for the time at which something ends.
func until(d time.Duration, now time.Time) string {
	if d <= 0 {
		return ""
	}
	return "until " + now.Add(d).UTC().Format("2006-01-02 15:04 UTC")
}
