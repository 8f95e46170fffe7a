package whatsapp

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// mediaTools are the programs of the machine that read members' and
// assistants' files. None is needed.
var mediaTools = []string{"ffmpeg", "ffprobe", "pdfinfo", "pdftoppm"}

// Examine implements channel.Platform: it checks how the programs run that make thumbnails and, if no host is
// running that could be asked, whether an account is linked.
func (platform) Examine(ctx context.Context, s channel.Setup, running bool) []finding.Finding {
	e := channel.Examination{Channel: s.Name}
	switch _, linked := device.Account(ctx, device.Spec(s.Name, s.Dir, s.Home, s.Server)); {
	case running: // the channel itself knows
	case linked:
		e.Found(finding.Fine, "a WhatsApp account is linked", "")
	default:
		w := WhatsApp{opts: Options{Name: s.Name}}
		e.Found(finding.Fault, stopNotPaired.Message, "link one with: "+w.pairCommand())
	}
	return append(e.All, examineTools(ctx, s))
}

// examineTools checks how the programs run that make thumbnails.
func examineTools(ctx context.Context, s channel.Setup) finding.Finding {
	f := finding.Finding{Name: finding.Tools, Part: "media tools", Severity: finding.Warning}
	switch confine.Mode(s.Tools) {
	case confine.Off:
		return finding.Well(f.Part, "turned off: films and PDF files have no thumbnail")
	case confine.Unconfined:
		f.Cause = toolsHere() + " read members' and assistants' files with the host's own rights"
		f.Remedy = "remove media_tools: unconfined, if longshore doctor then reports that the tools run confined"
		return f
	}
	r, err := confine.Probe(ctx)
	if err != nil {
		f.Severity = finding.Note
		f.Cause = "off, since a program cannot run without rights here: " + err.Error() + "; films and PDF files have no thumbnail"
		f.Remedy = "use Linux 5.13 or newer with Landlock on amd64 or arm64; media_tools: unconfined runs the tools with the host's own rights"
		return f
	}
	network := "without sockets"
	if r.Network {
		network += ", in an empty network"
	}
	return finding.Well(f.Part, fmt.Sprintf(
		"%s run confined: as user %d, reading libraries and the one file (Landlock %d), writing nothing, %s", toolsHere(), r.User, r.Landlock, network))
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
