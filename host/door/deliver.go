package door

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/ipc"
)

// sendMedia lets a file in, and answers with its delivery.
func (d *Door) sendMedia(rw http.ResponseWriter, r *http.Request, who source) error {
	wait, err := d.waitOf(r, d.Wait())
	if err != nil {
		return err
	}
	place := d.begin(who.folder)
	if place == nil {
		return errBusy
	}
	var upload string
	result, err := func() (ipc.Result, error) {
		defer place.end()
		c, err := d.read(rw, r, place)
		if c != nil {
			defer c.close()
		}
		if err != nil {
			return ipc.Result{}, err
		}
		defer func() { upload = c.upload }()
		return d.take(r, who, c)
	}()
	if err != nil {
		return err
	}
	// The body is read: its deadline must not end the connection while the call waits.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Time{})
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(wait + paceGrace))
	result = d.await(r.Context(), who.folder, result, wait)
	if result.Channel != "" || result.Status.Final() {
		if err := d.Spool.Unstage(who.folder, result.ID); err != nil {
			d.Log.Warn("staged file not removed", "group", who.folder, "request", result.ID, "error", err)
		}
	}
	if upload != "" && result.Channel != "" {
		if err := d.spend(upload); err != nil {
			d.Log.Warn("bytes of an upload not removed", "group", who.folder, "request", result.ID, "error", err)
		}
	}
	answer(rw, result)
	return nil
}

// read reads the body of a call by its type.
func (d *Door) read(rw http.ResponseWriter, r *http.Request, place *body) (*mediaCall, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return readJSON(pace(rw, r, maxFields+maxBuffer/3*4+4))
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		most := d.Quota() + maxFields
		return readForm(multipart.NewReader(pace(rw, r, most), params["boundary"]), d.temp(), place, most)
	}
	return nil, httpd.Refuse(http.StatusUnsupportedMediaType, ipc.CodeMalformed, "the body is neither JSON nor a form", "send application/json or multipart/form-data")
}

// take keeps a call and submits it, unless that was done before.
func (d *Door) take(r *http.Request, who source, c *mediaCall) (ipc.Result, error) {
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
	kept, err := d.enter(r.Context(), who, key, c.content())
	if err != nil {
		return ipc.Result{}, err
	}
	if kept.withdrawn {
		return ipc.Result{}, errWithdrawn
	}
	if _, has := d.Spool.Result(who.folder, kept.id); !has {
		switch {
		case d.gone(kept):
			return ipc.Result{}, errForgotten
		case c.spent:
			return ipc.Result{}, errSpent
		}
	}
	_, err, _ = d.once.Do(kept.id, func() (any, error) { return nil, d.submit(who, kept, request, c.file) })
	return d.status(who.folder, kept), err
}

// request is what an assistant in a container would write. The token says where it is.
func (d *Door) request(who source, c *mediaCall) (ipc.Request, error) {
	path, named := c.fields[fieldPath]
	if named == (c.file != nil) || c.fields[fieldUpload] != "" && c.upload == "" {
		return ipc.Request{}, httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the call has no file, or two", "give path, buffer, upload or the form's part named file")
	}
	g, ok := d.Groups().ByFolder(who.folder)
	if !ok {
		return ipc.Request{}, errNoToken
	}
	if named && !shares(g) {
		return ipc.Request{}, httpd.Refuse(http.StatusUnprocessableEntity, "not_shared", "this assistant shares no directory with the host", "upload it: send its bytes as buffer or as a form")
	}
	name := cmp.Or(c.fields["file_name"], c.name)
	if c.file != nil {
		if name == "" {
			return ipc.Request{}, httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the file has no name", "give file_name with its extension, such as chart.png")
		}
		path = stagedName
	}
	request := ipc.Request{
		Type: ipc.TypeFile, Chat: c.fields["chat"], ReplyTo: c.fields["reply_to"], Turn: ipc.NoTurn,
		Files: []ipc.FileRef{{Path: path, Name: name, MIME: c.fields["mime_type"], Caption: c.fields["caption"], Alt: c.fields["alt"], As: c.fields["as"]}},
	}
	if to, err := d.Groups().Authorize(who.folder, request.Chat); err == nil && to == g.Address() {
		request.Thread = who.thread
	}
	return request, nil
}

const (
	stagedName = "content" // of staged bytes; members see the request's name
	queueMount = "/workspace/ipc/"
)

// submit puts a call into its group's queue, unless the road has it. The order matters: a
// request leaves the queue only after its refusal is written or it is recorded, and the
// outbox knows a recorded one again.
func (d *Door) submit(who source, c call, request ipc.Request, file io.Reader) error {
	waits := d.Spool.Waits(who.folder, c.id)
	if _, has := d.Spool.Result(who.folder, c.id); has || waits {
		return nil
	}
	if file != nil {
		path, err := d.Spool.Stage(who.folder, c.id, stagedName, file)
		if err != nil {
			return err
		}
		request.Files[0].Path = queueMount + path
	}
	b, err := ipc.Encode(request)
	if err != nil {
		return err
	}
	return d.Spool.Submit(who.folder, c.id, b, c.made)
}

// gone says that the outbox may have forgotten a call.
func (d *Door) gone(c call) bool { return time.Since(c.made) >= d.Keep() }

// status is what the host has said of a delivery so far.
func (d *Door) status(folder string, c call) ipc.Result {
	if r, ok := d.Spool.Result(folder, c.id); ok {
		r.ID = c.id
		return r
	}
	return ipc.Result{ID: c.id, Status: ipc.Queued, Message: "waiting for the host", Time: c.made}
}

// await waits until a delivery has a final result, and returns the last one.
func (d *Door) await(ctx context.Context, folder string, last ipc.Result, wait time.Duration) ipc.Result {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		told := d.Spool.Told(folder) // before the result is read
		if r, ok := d.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Status.Final() {
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
func (d *Door) waitOf(r *http.Request, without time.Duration) (time.Duration, error) {
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

// result answers with what became of a delivery.
func (d *Door) result(rw http.ResponseWriter, r *http.Request, who source, id string) error {
	wait, err := d.waitOf(r, 0)
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
	last := d.await(r.Context(), who.folder, d.status(who.folder, c), wait)
	if !last.Status.Final() && last.Channel == "" && d.gone(c) {
		return errUnknown
	}
	answer(rw, last)
	return nil
}

// withdrawPatience is how long a withdrawal looks for a result that says that the host has
// recorded the request in the instant in which it was unlinked.
const withdrawPatience = time.Second

// withdraw takes a delivery out of the queue that is not accepted yet.
func (d *Door) withdraw(rw http.ResponseWriter, r *http.Request, who source, id string) error {
	c, err := d.find(r.Context(), who, id)
	if err != nil {
		return err
	}
	if c.withdrawn {
		return errWithdrawn
	}
	done, err := d.Spool.Withdraw(who.folder, id)
	if err != nil {
		return err
	}
	last := d.status(who.folder, c)
	if done {
		last = d.awaitTaken(r.Context(), who.folder, last)
	}
	if !done || last.Channel != "" || last.Status.Final() {
		httpd.Answer(rw, http.StatusConflict, last)
		return nil
	}
	if err := errors.Join(d.markWithdrawn(context.WithoutCancel(r.Context()), id), d.Spool.Unstage(who.folder, id)); err != nil {
		return err
	}
	rw.WriteHeader(http.StatusNoContent)
	return nil
}

// awaitTaken waits a moment for a result that says that the host has a delivery.
func (d *Door) awaitTaken(ctx context.Context, folder string, last ipc.Result) ipc.Result {
	over := time.NewTimer(withdrawPatience)
	defer over.Stop()
	for {
		told := d.Spool.Told(folder)
		if r, ok := d.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Channel != "" || last.Status.Final() {
			return last
		}
		select {
		case <-told:
		case <-over.C:
			return last
		case <-ctx.Done(): // its answer is lost; the withdrawal is not
			ctx = context.WithoutCancel(ctx)
		}
	}
}
