package whatsapp

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"google.golang.org/protobuf/proto"
)

// versionTime is how long a start waits to learn which version is the newest.
const versionTime = 5 * time.Second

// askVersion learns once which version of the web client is the newest, since
// WhatsApp refuses old ones. Where nobody answers, the library's own is used.
func (w *WhatsApp) askVersion(ctx context.Context) {
	w.mu.Lock()
	asked := w.asked
	w.asked = true
	w.mu.Unlock()
	if !asked {
		w.newerVersion(ctx)
	}
}

// newerVersion asks for the newest version, and says whether it is newer than
// the one that was used.
func (w *WhatsApp) newerVersion(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	latest, err := whatsmeow.GetLatestVersion(ctx, w.http)
	if err != nil {
		w.log.Info("ask for whatsapp's newest version", "error", harmless(err.Error()))
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.version.LessThan(*latest) {
		return false
	}
	w.version = *latest
	return true
}

// payload is what the client tells of itself. The library keeps it in
// variables of the process; changing a copy leaves other clients alone.
func (w *WhatsApp) payload(device *store.Device) func() *waWa6.ClientPayload {
	return func() *waWa6.ClientPayload {
		w.mu.Lock()
		version := w.version
		w.mu.Unlock()
		p := device.GetClientPayload() // a clone
		p.UserAgent.AppVersion = version.ProtoAppVersion()
		if reg := p.GetDevicePairingData(); reg != nil {
			hash := version.Hash()
			reg.BuildHash = hash[:]
			props := proto.Clone(store.DeviceProps).(*waCompanionReg.DeviceProps)
			props.Os = &w.opts.DeviceName
			if b, err := proto.Marshal(props); err == nil {
				reg.DeviceProps = b
			}
		}
		return p
	}
}
