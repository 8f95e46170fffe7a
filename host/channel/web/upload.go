package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

const maxField = 4*maxText + 1 // bytes of a form's text field

// readForm streams a form's files to the disk as they arrive. The caller drops the
// returned posted in the end; after an error nothing is left.
func (w *Web) readForm(rw http.ResponseWriter, r *http.Request, c *room, boundary string) (_ *posted, err error) {
	slot := w.uploads.Take(r.Context(), w.guard.Sender(r), http.NewResponseController(rw))
	if slot == nil {
		return nil, httpd.Refuse(http.StatusServiceUnavailable, "busy", "too many files are being sent at once", "try again in a moment")
	}
	defer slot.Leave()
	most := int64(w.opts.MaxFiles)*w.now().MaxUpload + maxJSON
	if r.ContentLength > most {
		return nil, w.fileTooLarge("this")
	}
	r.Body = slot.Body(rw, r, most)
	defer func() {
		if err != nil && slot.Lost() {
			err = httpd.Refuse(http.StatusServiceUnavailable, "too_slow", "the files came too slowly while others waited to send theirs", "send them again, over a faster connection if you can")
		}
	}()
	form := httpd.Form(r.Body, boundary)
	p := &posted{}
	defer func() {
		if err != nil {
			p.drop()
		}
	}()
	for parts := 0; ; parts++ {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return nil, badForm(err)
		}
		if parts >= w.opts.MaxFiles+8 {
			return nil, badForm(errors.New("too many parts"))
		}
		if err := w.readPart(r.Context(), c, p, part); err != nil {
			return nil, err
		}
	}
}

func (w *Web) readPart(ctx context.Context, c *room, p *posted, part *multipart.Part) error {
	if name := httpd.FileName(part); name != "" {
		if !utf8.ValidString(name) {
			return notUTF8("the name of a file")
		}
		return w.readFile(ctx, c, p, name, part)
	}
	b, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return badForm(err)
	}
	if len(b) > maxField {
		return textTooLong()
	}
	if !utf8.Valid(b) {
		return notUTF8("the field " + httpd.Quote(part.FormName()))
	}
	switch v := string(b); part.FormName() {
	case "text":
		p.Text = v
	case "from":
		p.From = v
	case "forwarded":
		p.Forwarded = v
	case "replyTo":
		p.ReplyTo = v
	case "author":
		p.Author = v
	case "secret":
		p.Secret = v
	case "key":
		p.Key = v
	default:
		return httpd.Refuse(http.StatusBadRequest, "unknown_field", "the form has a field "+httpd.Quote(part.FormName()), "use text, from, replyTo, forwarded, author, secret, key and files")
	}
	return nil
}

func (w *Web) readFile(ctx context.Context, c *room, p *posted, name string, r io.Reader) error {
	if len(p.files) >= w.opts.MaxFiles {
		return httpd.Refuse(http.StatusRequestEntityTooLarge, "too_many_files", fmt.Sprintf("up to %d files can be sent at once", w.opts.MaxFiles), "send them in several messages")
	}
	if err := w.space(c, p.size()); err != nil {
		return err
	}
	s, err := w.files.Stage(ctx, r, w.now().MaxUpload, nil)
	if errors.Is(err, blob.ErrTooLarge) {
		return w.fileTooLarge(media.SafeName(name))
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // an error of ours; one of the body's has another type
		return httpd.OrDiskFull(err)
	}
	if err != nil {
		return badForm(err)
	}
	info, err := identify(s, name)
	if err != nil {
		s.Drop()
		return err
	}
	p.files = append(p.files, upload{Staged: s, info: info})
	return w.postSpace(c, p.size())
}

// size returns the bytes of a post's files so far.
func (p *posted) size() (n int64) {
	for _, f := range p.files {
		n += f.Size
	}
	return n
}

// identify detects the type of a member's file by its content; the type that the browser
// claims is ignored.
func identify(s *history.Staged, name string) (media.Info, error) {
	info, err := media.Classify(name, "", s.Head, s.Size, media.Auto)
	if r := refusal.Of(err); r != nil {
		return media.Info{}, httpd.Refuse(http.StatusBadRequest, r.Code, r.Message, r.Hint)
	}
	return info, err
}

// space refuses files if the chat's quota or the disk is used up; size is the bytes of the
// post so far. Concurrent posts may each exceed the quota by one file.
func (w *Web) space(c *room, size int64) error {
	if err := w.postSpace(c, size); err != nil {
		return err
	}
	if free, ok := w.files.Free(); ok && free < w.now().KeepFree {
		return httpd.ErrDiskFull
	}
	return nil
}

// textReserve is the disk space that texts leave for the host's own records.
const textReserve = 64 << 20

// textSpace refuses texts if the disk is nearly full.
func (w *Web) textSpace() error {
	if free, ok := w.files.Free(); ok && free < min(textReserve, w.now().KeepFree) {
		return httpd.ErrDiskFull
	}
	return nil
}

func (w *Web) fileTooLarge(what string) *httpd.Problem {
	return httpd.Refuse(http.StatusRequestEntityTooLarge, "file_too_large",
		fmt.Sprintf("%s is larger than %s, which is the most that one file may have", what, media.Size(w.now().MaxUpload)),
		"compress it, or send it in parts")
}

func badForm(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return httpd.Refuse(http.StatusRequestEntityTooLarge, "too_large", "the files are larger than one message may carry", "send them in several messages")
	}
	return httpd.Refuse(http.StatusBadRequest, "bad_form", "the form did not arrive whole", "send it again")
}
