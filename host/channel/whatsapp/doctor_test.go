package whatsapp_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// Before the first start nobody said that an account has to be linked.
func TestTheDoctorSaysThatNoAccountIsLinked(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name, dir string
		running   bool
		want      string
	}{
		{"whatsapp", t.TempDir(), false, "fault: no WhatsApp account is linked: link one with: longshore pair whatsapp"},
		{"whatsapp-work", t.TempDir(), false, "fault: no WhatsApp account is linked: link one with: longshore pair whatsapp whatsapp-work"},
		{"whatsapp", t.TempDir(), true, ""}, // the host is asked
		{"whatsapp", w.opts.Dir, false, "ok: a WhatsApp account is linked: "},
	} {
		found := ""
		for _, f := range whatsapp.Platform(whatsapp.Net{}).Examine(t.Context(), channel.Setup{Name: tt.name, Dir: tt.dir, Tools: "off"}, tt.running) {
			if f.Part == "channel "+tt.name {
				found += strings.Join([]string{string(f.Severity), f.Cause, f.Remedy}, ": ")
			}
		}
		if found != tt.want {
			t.Errorf("%+v: %q", tt, found)
		}
	}
}
