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
	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/ipc"
)

// sendMedia lets a file in, and answers with its delivery.
func (d *Server) sendMedia(rw http.ResponseWriter, r *http.Request, who source) error {
	wait, err := d.waitOf(r, d.Wait())
	if err != nil {
		return err
	}
	place := d.begin(who.folder)
	if place == nil {
		return errBusy
	}
	var used mediaCall // without its file, which may be in memory
	result, err := func() (ipc.Result, error) {
		defer place.end()
		c, err := d.read(rw, r, place)
		if c != nil {
			defer c.close()
		}
		if err != nil {
			return ipc.Result{}, err
		}
		result, err := d.take(r, who, c)
		used.upload, used.hash = c.upload, c.hash
		return result, err
	}()
	if err != nil {
		return err
	}
	d.answerIn(rw, wait)
	result = d.await(r.Context(), who.folder, result, wait, time.Time{})
	d.unstage(who, result)
	if used.upload != "" && result.Channel != "" {
		d.spend(who, result.ID, &used)
	}
	answer(rw, result)
	return nil
}

// answerIn sets the deadlines of a call whose body is read: that of the body must not end
// the connection while the call waits.
func (d *Server) answerIn(rw http.ResponseWriter, wait time.Duration) {
	_ = http.NewResponseController(rw).SetReadDeadline(time.Time{})
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(wait + d.Limits.Grace))
}

// unstage removes the copies of a delivery that no longer needs them.
func (d *Server) unstage(who source, result ipc.Result) {
	if result.Channel == "" && !result.Status.Final() {
		return
	}
	if err := d.release(who.folder, result.ID); err != nil {
		d.Log.Warn("staged file not removed", "group", who.folder, "request", result.ID, "error", err)
	}
}

// read reads the body of a call by its type.
func (d *Server) read(rw http.ResponseWriter, r *http.Request, place *body) (*mediaCall, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return d.Limits.readJSON(d.Limits.pace(rw, r, d.Limits.largest()))
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		most := d.Quota() + d.Limits.Fields
		return d.Limits.readForm(httpd.Form(d.Limits.pace(rw, r, most), params["boundary"]), d.temp(), place, most)
	}
	return nil, httpd.Refuse(http.StatusUnsupportedMediaType, ipc.CodeMalformed, "the body is neither JSON nor a form", "send application/json or multipart/form-data")
}

// take keeps a call and submits it, unless that was done before.
func (d *Server) take(r *http.Request, who source, c *mediaCall) (ipc.Result, error) {
	key, err := keyOf(r, c.fields)
	if err != nil {
		return ipc.Result{}, err
	}
	if id, has := c.fields[fieldUpload]; has && c.file == nil {
		if err := d.useUpload(who, id, c); err != nil {
			return ipc.Result{}, err
		}
	}
	request, err := d.request(who, c)
	if err != nil {
		return ipc.Result{}, err
	}
	if _, err := ipc.Encode(request); err != nil { // refused before anything is kept
		return ipc.Result{}, err
	}
	var files []staged
	if c.file != nil {
		files = []staged{{path: stagedName, name: stagedName, file: c.file, spent: c.spent}}
	}
	return d.deliver(r.Context(), who, key, c.content(), request, files)
}

// staged is a file of a call that the queue gets a copy of.
type staged struct {
	path  string // in the request, until then
	name  string // of the copy
	file  io.ReadSeeker
	sum   []byte
	spent bool // a delivery has it: its bytes are gone
}

// deliver keeps a call and submits it, unless that was done before.
func (d *Server) deliver(ctx context.Context, who source, key string, content []byte, request ipc.Request, files []staged) (ipc.Result, error) {
	kept, err := d.enter(ctx, who, key, content)
	if err != nil {
		return ipc.Result{}, err
	}
	defer d.turns.take(who, kept.id)()
	if key != "" { // another call may have withdrawn it since
		if kept.withdrawn, err = d.withdrawn(ctx, who, kept.id); err != nil {
			return ipc.Result{}, err
		}
	}
	if kept.withdrawn {
		return ipc.Result{}, errWithdrawn
	}
	if kept.fresh || !d.submitted(who, kept) {
		switch {
		case d.gone(kept):
			return ipc.Result{}, errForgotten
		case slices.ContainsFunc(files, func(f staged) bool { return f.spent }):
			return ipc.Result{}, errSpent
		}
	}
	if err = d.submit(who, kept, request, files); (errors.Is(err, errBusy) || errors.Is(err, httpd.ErrDiskFull)) && kept.fresh {
		return ipc.Result{}, errors.Join(err, d.unmake(ctx, who, kept.id))
	}
	return d.status(who.folder, kept), err
}

// submitted says whether a call waits in the queue or has a result. The order matters: the
// result is there before the request is gone.
func (d *Server) submitted(who source, c call) bool {
	if d.Spool.Waits(who.folder, c.id) {
		return true
	}
	_, has := d.Spool.Result(who.folder, c.id)
	return has
}

// request is what an assistant in a container would write. The token says where it is.
func (d *Server) request(who source, c *mediaCall) (ipc.Request, error) {
	path, named := c.fields[fieldPath]
	if named == (c.file != nil) || c.fields[fieldUpload] != "" && c.upload == "" {
		return ipc.Request{}, httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the call has no file, or two", "give path, buffer, upload or the form's part named file")
	}
	g, ok := d.Groups().ByFolder(who.folder)
	if !ok {
		return ipc.Request{}, errNoToken
	}
	if named && !d.Shares(g) {
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
	d.place(who, g, &request)
	return request, nil
}

// place bounds a request to the token's conversation, whatever the caller says of it, and
// sends what is for the group's own chat there.
func (d *Server) place(who source, g groups.Group, request *ipc.Request) {
	request.Turn, request.Conversation = ipc.NoTurn, who.thread
	if to, err := d.Groups().Authorize(who.folder, request.Chat); err == nil && to == g.Address() {
		request.Thread = who.thread
	}
}

const (
	stagedName = "content" // of staged bytes; members see the request's name
	queueMount = "/workspace/ipc/"
)

// submit puts a call into its group's queue, unless the road has it. The order matters: a
// request leaves the queue only after its refusal is written or it is recorded, and the
// outbox knows a recorded one again. The caller has the call's turn.
func (d *Server) submit(who source, c call, request ipc.Request, files []staged) error {
	if d.submitted(who, c) {
		return nil
	}
	size, err := sizeOf(files)
	if err != nil {
		return err
	}
	if err := d.wait(who.folder, c.id, size); err != nil {
		return err
	}
	if err = d.stageAll(who, c, request, files, size); err != nil && !d.submitted(who, c) {
		return errors.Join(err, d.release(who.folder, c.id))
	}
	d.waiting.entered(who.folder, c.id)
	return err
}

// stageAll puts a call and the bytes of its files into its group's queue.
func (d *Server) stageAll(who source, c call, request ipc.Request, files []staged, size int64) error {
	if size > 0 { // a text is no matter for the disk
		release, err := d.Reserve(size)
		if err != nil {
			return errors.Join(httpd.ErrDiskFull, err)
		}
		defer release() // the disk then says what they take
	}
	request.Files = slices.Clone(request.Files)
	for _, f := range files {
		path, err := d.Spool.Stage(who.folder, c.id, f.name, f.file)
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
	return d.Spool.Submit(who.folder, c.id, b, c.made)
}

// status is what the host has said of a delivery so far.
func (d *Server) status(folder string, c call) ipc.Result {
	if r, ok := d.Spool.Result(folder, c.id); ok {
		r.ID = c.id
		return r
	}
	return ipc.Result{ID: c.id, Status: ipc.Queued, Message: "waiting for the host", Time: c.made}
}

// await waits until a delivery has a final result, or another one than that which was
// written at seen, and returns the last one.
func (d *Server) await(ctx context.Context, folder string, last ipc.Result, wait time.Duration, seen time.Time) ipc.Result {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		told := d.Spool.Told(folder) // before the result is read
		if r, ok := d.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Status.Final() || !seen.IsZero() && !last.Time.Equal(seen) {
			return last
		}
		select {
		case <-told:
		case <-over.C:
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

var errWithdrawn = httpd.Refuse(http.StatusGone, "withdrawn", "this delivery was withdrawn", "call again without its key, or with another")

// errForgotten is the answer to a call that was made before, and that the outbox may have
// forgotten: it must not be submitted again.
var errForgotten = httpd.Refuse(http.StatusGone, "forgotten", "this call was made before; its result is no longer kept", "look into the chat; call again with another key")

var errSpent = httpd.Refuse(http.StatusConflict, "upload_spent", "this upload was sent already: its bytes are no longer kept", "upload the file again under another id")

// waitOf is how long a call wants to wait, at most as long as any may.
func (d *Server) waitOf(r *http.Request, without time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return without, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"wait" is no duration`, "write 45s")
	}
	return min(wait, d.Wait()), nil
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
func (d *Server) result(rw http.ResponseWriter, r *http.Request, who source, id string) error {
	wait, err := d.waitOf(r, 0)
	if err != nil {
		return err
	}
	seen, err := seenOf(r)
	if err != nil {
		return err
	}
	c, err := d.find(r.Context(), who, id)
	if err != nil {
		return err
	}
	if c.withdrawn {
		return errWithdrawn
	}
	last := d.await(r.Context(), who.folder, d.status(who.folder, c), wait, seen)
	d.unstage(who, last)
	if !last.Status.Final() && last.Channel == "" && d.gone(c) {
		return errUnknown
	}
	answer(rw, last)
	return nil
}
