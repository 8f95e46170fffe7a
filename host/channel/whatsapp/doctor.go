package whatsapp

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/internal/confine"
)

// mediaTools are the programs of the machine that read members' and
// assistants' files. None is needed.
var mediaTools = []string{"ffmpeg", "ffprobe", "pdfinfo", "pdftoppm"}

// Examine implements channel.Platform: it checks how the programs run that make thumbnails and, if no host is
// running that could be asked, whether an account is linked.
func (platform) Examine(ctx context.Context, s channel.Setup, running bool) []channel.Finding {
	tools := examineTools(ctx, s)
	if running {
		return tools
	}
	if _, linked := device.Account(ctx, device.Spec(s.Name, s.Dir, s.Home)); linked {
		return append(tools, channel.Finding{Check: s.Name, Severity: channel.Fine, Message: "a WhatsApp account is linked"})
	}
	w := WhatsApp{opts: Options{Name: s.Name}}
	return append(tools, channel.Finding{Check: s.Name, Severity: channel.Warning, Message: stopNotPaired.Message, Remedy: "link one with: " + w.pairCommand()})
}

// examineTools checks how the programs run that make thumbnails.
func examineTools(ctx context.Context, s channel.Setup) []channel.Finding {
	const check = "media_tools"
	switch confine.Mode(s.Tools) {
	case confine.Off:
		return []channel.Finding{{Check: check, Severity: channel.Fine, Message: "turned off: films and PDF files have no thumbnail"}}
	case confine.Unconfined:
		return []channel.Finding{{
			Check: check, Severity: channel.Warning, Message: toolsHere() + " read members' and assistants' files with the host's own rights",
			Remedy: "remove media_tools: unconfined, if doctor then reports that the tools run confined",
		}}
	}
	r, err := confine.Probe(ctx)
	if err != nil {
		return []channel.Finding{{
			Check: check, Severity: channel.Note,
			Message: "off, since a program cannot run without rights here: " + err.Error() + "; films and PDF files have no thumbnail",
			Remedy:  "use Linux 5.13 or newer with Landlock on amd64 or arm64; media_tools: unconfined runs the tools with the host's own rights",
		}}
	}
	network := "without sockets"
	if r.Network {
		network += ", in an empty network"
	}
	return []channel.Finding{{Check: check, Severity: channel.Fine, Message: fmt.Sprintf(
		"%s run confined: as user %d, reading libraries and the one file (Landlock %d), writing nothing, %s", toolsHere(), r.User, r.Landlock, network)}}
}

// toolsHere names the tools that are installed.
func toolsHere() string {
	var here []string
	for _, name := range mediaTools {
		if _, err := exec.LookPath(name); err == nil {
			here = append(here, name)
		}
	}
	if len(here) == 0 {
		return "the media tools, none of which is installed,"
	}
	return strings.Join(here, ", ")
}
