package decode

import (
	"cmp"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// File is a member's file as an event has it.
type File struct {
	ID       string `json:"id"`
	User     string `json:"user"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Subtype  string `json:"subtype"`     // slack_audio: recorded in Slack
	Mode     string `json:"mode"`        // tombstone: deleted; hidden_by_limit; external
	Access   string `json:"file_access"` // check_file_info: of another workspace, and only files.info tells of it; access_denied
	URL      string `json:"url_private"`
	External bool   `json:"is_external"`
}

// FilesOf returns the files of a message or an attachment. A file of another form lacks fields.
func FilesOf(list any) (all []File) {
	for _, n := range nodes(list) {
		var f File
		if text, err := json.Marshal(n, lenient, json.Deterministic(true)); err == nil {
			_ = json.Unmarshal(text, &f, lenient)
		}
		all = append(all, f)
	}
	return all
}

var extension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`)

// Shown returns the name that members see: the title, with the extension if it lacks that.
func (f *File) Shown() string {
	name, ext := unescape.Replace(cmp.Or(f.Title, f.Name)), path.Ext(f.Name)
	if !extension.MatchString(ext) {
		ext = media.ExtensionFor(f.MIME)
	}
	if name != "" && !strings.EqualFold(path.Ext(name), ext) {
		name += ext
	}
	return name
}

// Info returns the facts that the file claims, as at a time.
func (f *File) Info(at time.Time) media.Info {
	name := f.Shown()
	kind := media.KindByName(name)
	if f.Subtype == "slack_audio" {
		kind = media.Voice
	}
	return media.Claimed(kind, name, f.MIME, uint64(max(0, f.Size)), at)
}

// Refused returns the permanent error of a file that Slack will not give; nil if it may.
func (f *File) Refused() error {
	why := cmp.Or(map[string]string{
		"external": "it lies outside Slack", "tombstone": "it was deleted in Slack", "hidden_by_limit": "Slack hides it: the workspace's plan keeps no older files",
	}[f.Mode], map[string]string{
		"access_denied": "Slack does not give it to the app: it belongs to another workspace, which does not share it", "file_not_found": "Slack does not have it any more",
	}[f.Access])
	if f.External {
		why = "it lies outside Slack"
	}
	if why == "" {
		return nil
	}
	return channel.Unfetchable(why)
}
