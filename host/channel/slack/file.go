package slack

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// file is a member's file as an event has it.
type file struct {
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

// filesOf returns the files of a message or an attachment. A file of another form lacks fields.
func filesOf(list any) (all []file) {
	for _, n := range nodes(list) {
		var f file
		if text, err := json.Marshal(n, lenient, json.Deterministic(true)); err == nil {
			_ = json.Unmarshal(text, &f, lenient)
		}
		all = append(all, f)
	}
	return all
}

var extension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`)

// name returns the name that members see: the title, with the extension if it lacks that.
func (f *file) name() string {
	name, ext := unescape.Replace(cmp.Or(f.Title, f.Name)), path.Ext(f.Name)
	if !extension.MatchString(ext) {
		ext = media.ExtensionFor(f.MIME)
	}
	if name != "" && !strings.EqualFold(path.Ext(name), ext) {
		name += ext
	}
	return name
}

func (f *file) info(at time.Time) media.Info {
	name := f.name()
	kind := media.KindByName(name)
	if f.Subtype == "slack_audio" {
		kind = media.Voice
	}
	return media.Claimed(kind, name, f.MIME, uint64(max(0, f.Size)), at)
}

// refused returns the permanent error of a file that Slack will not give; nil if it may.
func (f *file) refused() error {
	switch {
	case f.External || f.Mode == "external":
		return channel.Unfetchable("it lies outside Slack")
	case f.Mode == "tombstone":
		return channel.Unfetchable("it was deleted in Slack")
	case f.Mode == "hidden_by_limit":
		return channel.Unfetchable("Slack hides it: the workspace's plan keeps no older files")
	case f.Access == "access_denied":
		return channel.Unfetchable("Slack does not give it to the app: it belongs to another workspace, which does not share it")
	case f.Access == "file_not_found":
		return channel.Unfetchable("Slack does not have it any more")
	}
	return nil
}

// fileInfo asks Slack for a file.
func (s *Slack) fileInfo(ctx context.Context, id string) (*file, error) {
	var said struct {
		File file `json:"file"`
	}
	return &said.File, s.api.ask(ctx, "files.info", url.Values{"file": {id}}, &said)
}
