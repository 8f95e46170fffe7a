package remoteclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// UploadPrefix begins the path of an uploaded file in a request.
const UploadPrefix = "upload:"

// resumable is the size from which an upload that another run of this program began is
// looked for. A smaller file is uploaded anew.
const resumable = 256 << 10

// maxAttempts is how often an upload is tried again without a byte more at the host.
const maxAttempts = 6

// Stage uploads a file and returns its path for a request. An upload that was cut off goes
// on where the host has it, also if an earlier run of this program began it: its id is
// derived from the content. If ctx ends before, the error is a *Problem that says how
// far it is.
func (c *Client) Stage(ctx context.Context, _ string, r io.ReadSeeker) (path string, err error) {
	u := upload{c: c, file: r}
	h := sha256.New()
	if u.length, err = io.Copy(h, r); err != nil {
		return "", err
	}
	u.sum = hex.EncodeToString(h.Sum(nil))
	u.id = "content-" + u.sum
	if u.length >= resumable {
		err = u.find(ctx)
	} else {
		err = u.rename()
	}
	if err == nil {
		err = u.send(ctx)
	}
	if err != nil {
		return "", err
	}
	return UploadPrefix + u.id, nil
}

// upload is a file on its way.
type upload struct {
	c      *Client
	file   io.ReadSeeker
	length int64
	sum    string
	id     string
	offset int64 // how much the host has
}

// rename gives the upload an id that no other has.
func (u *upload) rename() error {
	id, err := uuid.NewRandom()
	u.id, u.offset = id.String(), 0
	return err
}

// find looks for an upload of this content that was cut off. One that is whole is another
// call's, which may have sent it.
func (u *upload) find(ctx context.Context) error {
	a, err := u.c.exchange(ctx, request{method: "HEAD", path: "/api/files/" + u.id}, nil)
	if err != nil {
		return err
	}
	if a.status == 404 {
		return nil
	}
	if err := u.at(a); err != nil {
		return err
	}
	if u.offset == u.length {
		return u.rename()
	}
	return nil
}

// at reads how far the host is.
func (u *upload) at(a answer) error {
	if a.status == 401 { // an answer to HEAD has no words
		return errNoToken
	}
	n, err := strconv.ParseInt(a.header.Get("Upload-Offset"), 10, 64)
	if a.status == 404 {
		n, err = 0, nil
	}
	if err != nil || n < 0 || n > u.length {
		return problem(a)
	}
	u.offset = n
	return nil
}

// send writes what the host does not have yet, until it has all.
func (u *upload) send(ctx context.Context) error {
	attempts, before := 0, u.offset
	for {
		done, err := u.put(ctx)
		if done || err != nil {
			return err
		}
		if attempts++; u.offset > before {
			attempts, before = 0, u.offset
		}
		if ctx.Err() != nil || attempts >= maxAttempts || !wake.Sleep(ctx, time.Duration(1<<attempts)*50*time.Millisecond) {
			return u.unfinished()
		}
		if a, err := u.c.do(ctx, request{method: "HEAD", path: "/api/files/" + u.id}); err == nil && !busy(a) {
			if err := u.at(a); err != nil {
				return err
			}
		}
	}
}

// put tries once. Done is false if it is to be tried again after a look at the offset.
func (u *upload) put(ctx context.Context) (done bool, err error) {
	if _, err := u.file.Seek(u.offset, io.SeekStart); err != nil {
		return false, err
	}
	a, err := u.c.do(ctx, request{method: "PUT", path: "/api/files/" + u.id, body: u.file, length: u.length - u.offset, header: []string{
		"Upload-Length", strconv.FormatInt(u.length, 10), "Upload-SHA256", u.sum, "Upload-Offset", strconv.FormatInt(u.offset, 10)}})
	if err != nil || busy(a) {
		return false, nil
	}
	if a.status == 200 {
		return true, nil
	}
	told := problem(a)
	switch refusal.Of(told).Code {
	case "wrong_offset":
		return false, nil
	case "upload_busy": // another call uploads the same file, or the host has not noticed the end of our connection yet
		if u.offset == 0 {
			return false, u.rename()
		}
		return false, nil
	case "wrong_sha256":
		return false, &refusal.Error{Code: "unreadable", Message: "the file changed while it was uploaded; nothing was sent", Hint: "wait until it is written, then call again"}
	}
	return false, told
}

func (u *upload) unfinished() error {
	return &refusal.Error{Code: "upload_unfinished", Message: fmt.Sprintf("%s of %s are at the host, and nothing was sent yet", media.Size(u.offset), media.Size(u.length)),
		Hint: "call again with the same file: the upload goes on where it stopped"}
}

// Unstage deletes an upload that no request has.
func (c *Client) Unstage(path string) error {
	id, ok := strings.CutPrefix(path, UploadPrefix)
	if !ok {
		return errors.New("unstage: this is no upload")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	_, err := c.do(ctx, request{method: "DELETE", path: "/api/files/" + id})
	return err
}
