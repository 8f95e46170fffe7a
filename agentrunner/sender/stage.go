package sender

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// MaxContent is the largest content, in bytes, that a call itself may contain.
const MaxContent = 20 << 20

// maxStaged limits a copy, in bytes, if the host has published no limit.
const maxStaged = 2 << 30

var errGrew = errors.New("the file grew while it was copied")

// stage copies a checked file into the group's own files directory. It streams, and
// stops at the limit of the file's kind.
func (s *Sender) stage(ctx context.Context, c checkedFile) (string, error) {
	limit := cmp.Or(c.limit, maxStaged)
	if c.info.Size > limit {
		return "", problem("file_too_large", fmt.Sprintf("%s is %s; a copy may have up to %s", quoted(c.info.Name), media.Size(c.info.Size), media.Size(limit)),
			"move the file to /workspace/group, from where it is sent without a copy")
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return "", problem("unreadable", quoted(c.claim.Path)+" cannot be read twice", "send a copy of the file")
	}
	path, err := s.copyIn(ctx, c.info.Name, &capped{r: c.file, most: limit, left: limit})
	if errors.Is(err, errGrew) {
		return "", problem("file_too_large", quoted(c.info.Name)+" grew beyond "+media.Size(limit)+" while it was copied", "wait until it is written, then call again")
	}
	if err != nil {
		return "", s.dropProblem(err)
	}
	return path, nil
}

// copyIn gives the host bytes and returns their path for a request.
func (s *Sender) copyIn(ctx context.Context, name string, r io.ReadSeeker) (string, error) {
	if s.config.Upload > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.config.Upload)
		defer cancel()
	}
	return s.client.Stage(ctx, name, r)
}

// capped fails after more than left bytes were read.
type capped struct {
	r          io.ReadSeeker
	most, left int64
}

// Seek goes to an offset from the start.
func (c *capped) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	c.left = c.most - offset
	return c.r.Seek(offset, whence)
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.left -= int64(n)
	if c.left < 0 {
		return 0, errGrew
	}
	return n, err
}

// SendContent sends a file whose content is in the call, in standard base64. Limits
// and errors are those of SendFiles.
func (s *Sender) SendContent(ctx context.Context, content string, f File, o Options) (Report, error) {
	if isBlank(f.Name) {
		return Report{}, problem("invalid_argument", "the file has no name", "give file_name with its extension, such as chart.png")
	}
	content, mime := cutDataURL(content)
	f.MIME = cmp.Or(f.MIME, mime)
	data, err := decodeContent(content)
	if err != nil {
		return Report{}, err
	}
	info, err := media.Classify(f.Name, f.MIME, data[:min(len(data), media.HeadSize)], int64(len(data)), media.Style(f.As))
	if err != nil {
		return Report{}, asProblem(err)
	}
	host := s.host()
	c := checkedFile{claim: f, info: info, limit: host.limit(info.Kind)}
	if err := c.fits(host); err != nil {
		return Report{}, err
	}
	path, err := s.copyIn(ctx, info.Name, bytes.NewReader(data))
	if err != nil {
		return Report{}, s.dropProblem(err)
	}
	req := s.request(ipc.TypeFile, o)
	req.Files = []ipc.FileRef{{Path: path, Name: info.Name, MIME: s.mime(c), Caption: f.Caption, Alt: f.Alt, As: f.As}}
	parts := []Part{{Name: info.Name, Kind: string(info.Kind), Size: info.Size, Note: info.Note}}
	return s.deliver(ctx, req, parts, []string{path}, o)
}

// cutDataURL removes a prefix such as "data:image/png;base64," (RFC 2397) and
// returns its type. Any other content is returned unchanged.
func cutDataURL(content string) (data, mime string) {
	head, rest, ok := strings.Cut(content, ",")
	if !ok || !isDataURL(content) {
		return content, ""
	}
	mime, ok = strings.CutSuffix(head[len("data:"):], ";base64")
	if !ok {
		return content, ""
	}
	return rest, mime
}

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// decodeContent decodes strictly, so that truncated or garbled content is not sent
// as a broken file.
func decodeContent(content string) ([]byte, error) {
	switch {
	case isBlank(content):
		return nil, problem("empty_file", "content_base64 is empty", "give the file's bytes in base64, or write a file and use send_file")
	case isDataURL(content):
		return nil, problem("invalid_argument", "content_base64 is a data: URL whose content is not in base64", "encode the file's bytes in base64")
	case base64.StdEncoding.DecodedLen(len(content)) > MaxContent+2:
		return nil, problem("file_too_large", "the content is about "+media.Size(int64(base64.StdEncoding.DecodedLen(len(content))))+
			"; a call may carry "+media.Size(MaxContent), "write it to a file in /workspace/group and use send_file")
	case strings.ContainsAny(content, "-_"):
		return nil, problem("invalid_argument", "content_base64 is in the URL alphabet", "use standard base64, with + and /")
	}
	encoding := base64.StdEncoding
	if !strings.Contains(content, "=") {
		encoding = base64.RawStdEncoding // the length already says how much padding there would be
	}
	data, err := encoding.Strict().DecodeString(content)
	if err != nil {
		var at base64.CorruptInputError
		where := ""
		if errors.As(err, &at) {
			where = fmt.Sprintf(" at character %d", int64(at)+1)
		}
		return nil, problem("invalid_argument", "content_base64 is not valid base64"+where, "encode the whole file again, or write it to a file and use send_file")
	}
	return data, nil
}
