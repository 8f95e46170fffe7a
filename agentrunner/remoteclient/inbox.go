package remoteclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// Inbox returns the members' messages that the host keeps for this assistant, oldest first:
// those behind the cursor after, or all if after is empty. If there are none, it waits up to
// wait for one; the host may wait less. Each message is returned again until Ack ends it. A
// host that is away is asked again for 20 seconds. The error is ctx's, or tells what to do
// like those of Enqueue.
func (c *Client) Inbox(ctx context.Context, after string, wait time.Duration) (in ipc.Inbox, err error) {
	query := url.Values{"wait": {wait.String()}}
	if after != "" {
		query.Set("after", after)
	}
	a, err := c.exchange(ctx, request{method: "GET", path: "/api/inbox?" + query.Encode(), wait: wait}, nil)
	if ctx.Err() != nil {
		return in, ctx.Err()
	}
	if err != nil {
		return in, err
	}
	var read struct {
		ipc.Inbox
		Messages *[]ipc.Message `json:"messages"` // told apart from another answer
	}
	if a.status != 200 || json.Unmarshal(a.body, &read) != nil || read.Messages == nil {
		return in, problem(a)
	}
	read.Inbox.Messages = *read.Messages
	return read.Inbox, nil
}

// Ack ends a message, and answers it with text unless text is empty. done is false if the
// message had ended before, such as by a member's /stop: then nothing is sent. A repeated
// call sends the text once. Errors are those of Inbox.
func (c *Client) Ack(ctx context.Context, id, text string) (done bool, err error) {
	var body []byte
	if text != "" {
		if body, err = json.Marshal(map[string]string{"text": text}); err != nil {
			return false, err
		}
	}
	a, err := c.exchange(ctx, request{method: "POST", path: "/api/inbox/" + url.PathEscape(id) + "/ack", header: []string{"Content-Type", "application/json"}}, body)
	if err != nil {
		return false, err
	}
	var told struct {
		ID   string `json:"id"`
		Done bool   `json:"acknowledged"`
	}
	if a.status != 200 || json.Unmarshal(a.body, &told) != nil || told.ID == "" {
		return false, problem(a)
	}
	return told.Done, nil
}

// piece is how many bytes of a file come in one answer.
const piece = 1 << 20

// ErrMissing is returned for a file that the host does not have. The words of
// ipc.MessageFile.Missing say why.
var ErrMissing = errors.New("the host does not have this file")

// CopyFile writes a file of a message to w. The bytes come in pieces, and a broken
// connection is asked again for the piece that was lost. The file is there until the message
// ends. Errors are ErrMissing, w's, and those of Inbox.
func (c *Client) CopyFile(ctx context.Context, w io.Writer, message ipc.Message, file ipc.MessageFile) error {
	if file.Missing != "" {
		return ErrMissing
	}
	path := "/api/inbox/" + url.PathEscape(message.ID) + "/files/" + strconv.Itoa(file.Number)
	for at := int64(0); at < file.Size; {
		last := min(at+piece, file.Size) - 1
		a, err := c.exchange(ctx, request{method: "GET", path: path, header: []string{"Range", fmt.Sprintf("bytes=%d-%d", at, last)}}, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if a.status != 206 {
			return problem(a)
		}
		if int64(len(a.body)) != last-at+1 || a.header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", at, last, file.Size) {
			return &refusal.Error{Code: "file_changed", Message: "the host has another file than the message says", Hint: "fetch the messages again, then the file"}
		}
		if _, err := w.Write(a.body); err != nil {
			return err
		}
		at = last + 1
	}
	return nil
}
