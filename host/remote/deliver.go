package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/calls"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// sendMedia lets a file in, and answers with its delivery.
func (s *Server) sendMedia(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	wait, err := s.waitOf(r, s.Live.Wait())
	if err != nil {
		return err
	}
	place := s.bodies.Begin(who.Folder)
	if place == nil {
		return errBusy
	}
	var used mediaCall // without its file, which may be in memory
	result, err := func() (ipc.Result, error) {
		defer place.End()
		c, err := s.read(rw, r, place)
		if c != nil {
			defer c.close()
		}
		if err != nil {
			return ipc.Result{}, err
		}
		result, err := s.take(r, who, c)
		used.upload, used.hash = c.upload, c.hash
		return result, err
	}()
	if err != nil {
		return err
	}
	result = s.await(r.Context(), who.Folder, result, wait, time.Time{})
	s.unstage(who, result)
	if used.upload != "" && result.Channel != "" {
		s.releaseUploads(who, result.ID, &used)
	}
	answer(rw, result)
	return nil
}

// unstage removes the copies of a delivery that no longer needs them.
func (s *Server) unstage(who tokens.Identity, result ipc.Result) {
	if result.Channel == "" && !result.Status.Final() {
		return
	}
	if err := s.release(who.Folder, result.ID); err != nil {
		s.Log.Warn("staged file not removed", "group", who.Folder, "request", result.ID, "error", err)
	}
}

// read reads the body of a call by its type.
func (s *Server) read(rw http.ResponseWriter, r *http.Request, place *intake.Body) (*mediaCall, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return readJSON(s.Limits, s.Limits.Body(rw, r, s.Limits.Largest()))
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		most := s.Live.Quota() + s.Limits.Fields
		return readForm(s.Limits, httpd.Form(s.Limits.Body(rw, r, most), params["boundary"]), s.temp(), place, most)
	}
	return nil, httpd.Refuse(http.StatusUnsupportedMediaType, ipc.CodeMalformed, "the body is neither JSON nor a form", "send application/json or multipart/form-data")
}

// take keeps a call and submits it, unless that was done before.
func (s *Server) take(r *http.Request, who tokens.Identity, c *mediaCall) (ipc.Result, error) {
	key, err := keyOf(r, c.fields)
	if err != nil {
		return ipc.Result{}, err
	}
	if id, has := c.fields[fieldUpload]; has && c.file == nil {
		if err := s.useUpload(who, id, c); err != nil {
			return ipc.Result{}, err
		}
	}
	request, err := s.request(who, c)
	if err != nil {
		return ipc.Result{}, err
	}
	if _, err := ipc.Encode(request); err != nil { // refused before anything is kept
		return ipc.Result{}, err
	}
	var files []stagedFile
	if c.file != nil {
		files = []stagedFile{{path: stagedName, name: stagedName, file: c.file, gone: c.gone}}
	}
	return s.deliver(r.Context(), who, key, c.content(), request, files)
}

// stagedFile is a file of a call that the queue gets a copy of.
type stagedFile struct {
	path string // in the request, until then
	name string // of the copy
	file io.ReadSeeker
	sum  []byte
	gone error // its bytes are not kept; nil: they are
}

// deliver keeps a call and submits it, unless that was done before.
func (s *Server) deliver(ctx context.Context, who tokens.Identity, key string, content []byte, request ipc.Request, files []stagedFile) (ipc.Result, error) {
	c, err := s.calls.Record(ctx, who, key, content)
	if err != nil {
		return ipc.Result{}, err
	}
	defer s.calls.Lock(who, c.ID)()
	if key != "" { // another call may have cancelled it since
		now, err := s.calls.Find(ctx, who, c.ID)
		if err != nil {
			return ipc.Result{}, err
		}
		c.Cancelled = now.Cancelled
	}
	if c.Cancelled {
		return ipc.Result{}, errCancelled
	}
	if c.New || !s.submitted(who, c) {
		if s.expired(c) {
			return ipc.Result{}, errForgotten
		}
		for _, f := range files {
			if f.gone != nil && c.New { // the caller may use the key again
				return ipc.Result{}, errors.Join(f.gone, s.calls.Delete(context.WithoutCancel(ctx), who.Folder, c.ID))
			}
			if f.gone != nil {
				return ipc.Result{}, f.gone
			}
		}
	}
	if err = s.submit(who, c, request, files); (errors.Is(err, errBusy) || errors.Is(err, httpd.ErrDiskFull)) && c.New {
		return ipc.Result{}, errors.Join(err, s.calls.Delete(context.WithoutCancel(ctx), who.Folder, c.ID))
	}
	return s.status(who.Folder, c), err
}

// expired reports whether the outbox may have forgotten a call.
func (s *Server) expired(c calls.Call) bool { return time.Since(c.Made) >= s.Live.KeepResults() }

// submitted reports whether a call waits in the queue or has a result. The order matters: the
// result is there before the request is gone.
func (s *Server) submitted(who tokens.Identity, c calls.Call) bool {
	if s.Spool.Waits(who.Folder, c.ID) {
		return true
	}
	_, has := s.Spool.Result(who.Folder, c.ID)
	return has
}

// lost is errCallLost for a call that is nowhere: the host that had it in its queue ended before it recorded
// the call, and this one is another machine's.
func (s *Server) lost(ctx context.Context, who tokens.Identity, c calls.Call) error {
	if s.submitted(who, c) || s.expired(c) {
		return nil
	}
	defer s.calls.Lock(who, c.ID)() // nobody is about to submit it
	submitted := s.submitted(who, c)
	recorded, err := s.Records.Requested(ctx, who.Folder, c.ID)
	if err == nil && !submitted && !recorded && !s.submitted(who, c) { // it may have been refused meanwhile
		return errCallLost
	}
	return err
}

// request is what an assistant in a container would write. The token says where it is.
func (s *Server) request(who tokens.Identity, c *mediaCall) (ipc.Request, error) {
	path, named := c.fields[fieldPath]
	if named == (c.file != nil) || c.fields[fieldUpload] != "" && c.upload == "" {
		return ipc.Request{}, httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the call has no file, or two", "give path, buffer, upload or the form's part named file")
	}
	g, ok := s.Live.Registry().ByFolder(who.Folder)
	if !ok {
		return ipc.Request{}, tokens.ErrUnauthorized
	}
	if named && !s.Live.SharesDirectories(g) {
		return ipc.Request{}, errNotShared
	}
	name := cmp.Or(c.fields["file_name"], c.name)
	if c.file != nil {
		if name == "" {
			return ipc.Request{}, errNoName
		}
		path = stagedName
	}
	request := ipc.Request{
		Type: ipc.TypeFile, Chat: c.fields["chat"], ReplyTo: c.fields["reply_to"],
		Files: []ipc.FileRef{{Path: path, Name: name, MIME: c.fields["mime_type"], Caption: c.fields["caption"], Alt: c.fields["alt"], As: c.fields["as"]}},
	}
	s.place(who, g, &request)
	return request, nil
}

// place bounds a request to the token's conversation, whatever the caller says of it, and
// sends what is for the group's own chat there.
func (s *Server) place(who tokens.Identity, g groups.Group, request *ipc.Request) {
	request.Turn, request.Conversation = ipc.NoTurn, who.Thread
	if to, err := s.Live.Registry().Authorize(who.Folder, request.Chat); err == nil && to == g.Address() {
		request.Thread = who.Thread
	}
}

const (
	stagedName = "content" // of staged bytes; members see the request's name
	queueMount = "/workspace/ipc/"
)

// submit puts a call into its group's queue, unless the road has it. The order matters: a
// request leaves the queue only after its refusal is written or it is recorded, and the
// outbox knows a recorded one again. The caller has the call's turn.
func (s *Server) submit(who tokens.Identity, c calls.Call, request ipc.Request, files []stagedFile) error {
	if s.submitted(who, c) {
		return nil
	}
	size, err := sizeOf(files)
	if err != nil {
		return err
	}
	if err := s.wait(who.Folder, c.ID, size); err != nil {
		return err
	}
	if err = s.stageAll(who, c, request, files, size); err != nil && !s.submitted(who, c) {
		return errors.Join(err, s.release(who.Folder, c.ID))
	}
	s.waiting.entered(who.Folder, c.ID)
	return err
}

// stageAll puts a call and the bytes of its files into its group's queue.
func (s *Server) stageAll(who tokens.Identity, c calls.Call, request ipc.Request, files []stagedFile, size int64) error {
	if size > 0 { // a text is no matter for the disk
		release, err := s.Disk.Reserve(size)
		if err != nil {
			return errors.Join(httpd.ErrDiskFull, err)
		}
		defer release() // the disk then says what they take
	}
	request.Files = slices.Clone(request.Files)
	for _, f := range files {
		path, err := s.Spool.Stage(who.Folder, c.ID, f.name, f.file)
		if err != nil {
			return err
		}
		for i := range request.Files {
			if request.Files[i].Path == f.path {
				request.Files[i].Path = queueMount + path
			}
			if request.Files[i].Source == f.path {
				request.Files[i].Source = queueMount + path
			}
		}
	}
	b, err := ipc.Encode(request)
	if err != nil {
		return err
	}
	return s.Spool.Submit(who.Folder, c.ID, b, c.Made)
}

// status is what the host has said of a delivery so far.
func (s *Server) status(folder string, c calls.Call) ipc.Result {
	if r, ok := s.Spool.Result(folder, c.ID); ok {
		r.ID = c.ID
		return r
	}
	return ipc.Result{ID: c.ID, Status: ipc.Queued, Message: "waiting for the host", Time: c.Made}
}

// await waits until a delivery has a final result, or another one than that which was
// written at seen, and returns the last one.
func (s *Server) await(ctx context.Context, folder string, last ipc.Result, wait time.Duration, seen time.Time) ipc.Result {
	over := time.After(wait)
	for {
		told := s.Spool.Told(folder) // before the result is read
		if r, ok := s.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Status.Final() || !seen.IsZero() && !last.Time.Equal(seen) {
			return last
		}
		select {
		case <-told:
		case <-over:
			return last
		case <-ctx.Done():
			return last
		}
	}
}

// answer answers with a result: 200 if it is final, 202 if the delivery goes on.
func answer(rw http.ResponseWriter, r ipc.Result) {
	status := http.StatusOK
	switch {
	case r.Status == ipc.Refused:
		status = http.StatusUnprocessableEntity
	case !r.Status.Final():
		status = http.StatusAccepted
	}
	httpd.Answer(rw, status, r)
}

// waitOf is how long a call wants to wait, at most as long as any may.
func (s *Server) waitOf(r *http.Request, without time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return without, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"wait" is no duration`, "write 45s")
	}
	return min(wait, s.Live.Wait()), nil
}

// seenOf is the time of the result that the caller has; zero if it has none.
func seenOf(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("seen")
	if text == "" {
		return time.Time{}, nil
	}
	seen, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return seen, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"seen" is no time`, "write the time of the result that you have")
	}
	return seen, nil
}

// result answers with what became of a delivery.
func (s *Server) result(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	wait, err := s.waitOf(r, 0)
	if err != nil {
		return err
	}
	seen, err := seenOf(r)
	if err != nil {
		return err
	}
	c, err := s.calls.Find(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if c.Cancelled {
		return errCancelled
	}
	if err := s.lost(r.Context(), who, c); err != nil {
		return err
	}
	last := s.await(r.Context(), who.Folder, s.status(who.Folder, c), wait, seen)
	s.unstage(who, last)
	if !last.Status.Final() && last.Channel == "" && s.expired(c) {
		return calls.ErrUnknown
	}
	answer(rw, last)
	return nil
}
