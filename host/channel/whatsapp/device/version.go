package device

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

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
)

// versionTime is how long a start waits to learn which version is the newest.
const versionTime = 5 * time.Second

// Version is the version of the web client that the device claims to be. WhatsApp
// rejects old versions.
type Version struct {
	http *http.Client
	log  *slog.Logger

	mu     sync.Mutex
	number store.WAVersionContainer
	asked  bool // for the newest
}

// NewVersion returns a version that begins with the library's own version.
func NewVersion(http *http.Client, log *slog.Logger) *Version {
	return &Version{http: http, log: log, number: store.GetWAVersion()}
}

// Ask asks once for the newest version. Without an answer, the library's own
// version is used.
func (v *Version) Ask(ctx context.Context) {
	v.mu.Lock()
	asked := v.asked
	v.asked = true
	v.mu.Unlock()
	if !asked {
		v.Renew(ctx)
	}
}

// Renew asks for the newest version, and reports whether it is newer than the one
// in use.
func (v *Version) Renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	latest, err := whatsmeow.GetLatestVersion(ctx, v.http)
	if err != nil {
		v.log.Info("ask for whatsapp's newest version", "error", librarylog.Harmless(err.Error()))
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

// Payload returns how the client describes itself to WhatsApp; name is shown in the
// phone's list of linked devices. The library has the description in variables of
// the process; Payload changes a copy, so that other clients keep theirs.
func (v *Version) Payload(device *store.Device, name string) func() *waWa6.ClientPayload {
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
