package sender

import (
	"cmp"
	"context"
	"path"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// sendNamed is SendFiles for files that only the host may open: nothing here looks at
// them, or says whether there is one.
func (s *Sender) sendNamed(ctx context.Context, files []File, o Options) (Report, error) {
	req := s.request(ipc.TypeFile, o)
	parts := make([]Part, 0, len(files))
	for i, f := range files {
		if isBlank(f.Path) {
			return Report{}, inFile(problem("invalid_argument", "the path is empty", "give the path of the file to send"), i, len(files))
		}
		req.Files = append(req.Files, ipc.FileRef{Path: f.Path, Name: f.Name, MIME: f.MIME, Caption: f.Caption, Alt: f.Alt, As: f.As})
		parts = append(parts, Part{Name: media.Printable(cmp.Or(f.Name, path.Base(f.Path)))})
	}
	return s.deliver(ctx, req, parts, nil, o)
}

// Prints reports whether documents can be printed here, by programs beside this one.
func (s *Sender) Prints() bool { return s.files != FilesHosts }

// Fetches reports whether the assistant sees what the host puts into its workspace.
func (s *Sender) Fetches() bool {
	return s.files == FilesShared || s.files == FilesHosts && len(s.host().context.Mounts) > 0
}
