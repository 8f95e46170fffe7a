package whatsapp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"google.golang.org/protobuf/proto"
)

// versionTime is how long a start waits to learn which version is the newest.
const versionTime = 5 * time.Second

// version is which version of the web client the device says it is. WhatsApp
// refuses old ones.
type version struct {
	http *http.Client
	log  *slog.Logger

	mu     sync.Mutex
	number store.WAVersionContainer
	asked  bool // for the newest
}

// ask learns once which version is the newest. If nobody answers, the library's
// own is used.
func (v *version) ask(ctx context.Context) {
	v.mu.Lock()
	asked := v.asked
	v.asked = true
	v.mu.Unlock()
	if !asked {
		v.renew(ctx)
	}
}

// renew asks for the newest version, and says whether it is newer than the one
// that was used.
func (v *version) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	latest, err := whatsmeow.GetLatestVersion(ctx, v.http)
	if err != nil {
		v.log.Info("ask for whatsapp's newest version", "error", harmless(err.Error()))
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.number.LessThan(*latest) {
		return false
	}
	v.number = *latest
	return true
}

// payload is what a client says of itself, by name on the phone's list of linked
// devices. The library keeps it in variables of the process; changing a copy
// leaves other clients alone.
func (v *version) payload(device *store.Device, name string) func() *waWa6.ClientPayload {
	return func() *waWa6.ClientPayload {
		v.mu.Lock()
		number := v.number
		v.mu.Unlock()
		p := device.GetClientPayload() // a clone
		p.UserAgent.AppVersion = number.ProtoAppVersion()
		if reg := p.GetDevicePairingData(); reg != nil {
			hash := number.Hash()
			reg.BuildHash = hash[:]
			props := proto.Clone(store.DeviceProps).(*waCompanionReg.DeviceProps)
			props.Os = &name
			if b, err := proto.Marshal(props); err == nil {
				reg.DeviceProps = b
			}
		}
		return p
	}
}
