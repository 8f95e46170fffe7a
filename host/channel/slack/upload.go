package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	shareWithin = 6 * time.Second       // Send waits so long for the chat to have a file
	firstLook   = 50 * time.Millisecond // after Slack took it; then twice as long each time
	unsure      = time.Minute           // files that nobody shared by then are not going to be
	dropped     = 5 * time.Minute       // files that Slack took and did not share by then go up again, if an operator asks for it
	noTitle     = "file"                // Slack wants a name
)

// upload is the state of a message with files between its steps, as Message.Save keeps it.
type upload struct {
	Files []string  `json:"f,omitempty"` // Slack's ids of those that have their bytes there, in order
	Asked time.Time `json:"a,omitzero"`  // when Slack was asked to show them; zero: not yet
	Taken bool      `json:"t,omitempty"` // Slack has said that it will
}

// stateOf reads what an earlier attempt has saved; zero if it cannot be read.
func stateOf(m channel.Message) (u upload) {
	if json.Unmarshal(m.State, &u) != nil || len(u.Files) > len(m.Files) {
		return upload{}
	}
	return u
}

func (u *upload) save(ctx context.Context, m channel.Message) error {
	state, err := json.Marshal(u)
	if err == nil {
		err = m.Save(ctx, state)
	}
	if err != nil {
		return fmt.Errorf("save the step of an upload: %w", err)
	}
	return nil
}

// share posts a message with files: it uploads each, then asks Slack to show them as one message.
// Only the last step shows something.
func (s *Slack) share(ctx context.Context, m channel.Message, thread *string) (channel.Receipt, error) {
	u := stateOf(m)
	before := !u.Asked.IsZero()
	if before {
		if r, err := s.found(ctx, m, u, thread); r != nil || err != nil {
			return *cmp.Or(r, &channel.Receipt{}), err
		}
		if u.Taken {
			u, before = upload{}, false
		}
	}
	if err := s.send(ctx, m, &u); err != nil {
		return channel.Receipt{}, err
	}
	u.Asked = time.Now()
	if err := u.save(ctx, m); err != nil {
		return channel.Receipt{}, err
	}
	switch err := s.complete(ctx, m, u, thread); {
	case webapi.Says(err, "file_not_found"):
		return s.refusedIDs(ctx, m, &u, before)
	case err != nil:
		if channel.ClassOf(err) != channel.Ambiguous { // nothing was shown
			u.Asked = time.Time{}
			err = errors.Join(err, u.save(ctx, m))
		}
		return channel.Receipt{}, err
	}
	return s.shared(ctx, m, &u, thread)
}

// send uploads the files that Slack does not have.
func (s *Slack) send(ctx context.Context, m channel.Message, u *upload) error {
	return m.Uploads(len(u.Files), func(i int, f channel.File, a channel.Attempt) error {
		id, err := s.sendFile(ctx, f, a)
		if err != nil {
			return err
		}
		if u.Files = append(u.Files, id); i == len(m.Files)-1 { // with the last one, Asked is saved
			return nil
		}
		return u.save(ctx, m)
	})
}

// sendFile uploads one file, and returns Slack's id of it.
func (s *Slack) sendFile(ctx context.Context, f channel.File, a channel.Attempt) (string, error) {
	if f.Size == 0 {
		return "", &channel.Error{Class: channel.Permanent, Code: "file_empty", Message: "Slack takes no empty file"}
	}
	to, err := s.api.slack.GetUploadURLExternalContext(ctx, slackgo.GetUploadURLExternalParameters{FileName: cmp.Or(f.Name, noTitle), FileSize: int(f.Size), AltTxt: f.Alt})
	if err = s.api.refusal(err); err == nil && !decode.IsID(to.FileID) {
		err = errors.New("Slack gave a file no id")
	}
	if err != nil {
		return "", err
	}
	body, err := transfer.Raw(ctx, f, a.Progress)
	if err != nil {
		return "", err
	}
	answer, err := transfer.Post(ctx, s.api.Client, platformName, to.UploadURL, http.Header{}, body)
	if err != nil {
		return "", uploadError(err)
	}
	var n int64
	if _, err := fmt.Sscanf(string(answer), "OK - %d", &n); err == nil && n != f.Size {
		return "", &channel.Error{Code: "upload_failed", Message: fmt.Sprintf("Slack has %d bytes of %d of the file", n, f.Size), Hint: channel.Again}
	}
	return to.FileID, nil
}

// uploadError returns the error of an upload: Passing, since an upload shows nothing and may be
// repeated, unless the file itself is the cause.
func uploadError(err error) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Code == "file_too_large" || e.Code == "content_changed" {
		return err
	}
	return &channel.Error{Code: "upload_failed", Message: "the file did not get to Slack", Hint: channel.Again, RetryAfter: e.RetryAfter, Err: e}
}

// complete asks Slack to show the files as one message.
func (s *Slack) complete(ctx context.Context, m channel.Message, u upload, thread *string) error {
	var files []map[string]string
	for i, f := range m.Files {
		files = append(files, map[string]string{"id": u.Files[i], "title": cmp.Or(f.Name, noTitle)})
	}
	args := map[string]any{"files": files, "channel_id": decode.IDOf(m.Chat)}
	if m.Text != "" {
		args["initial_comment"] = m.Text
	}
	if *thread != "" {
		args["thread_ts"] = *thread
	}
	return s.api.Post(ctx, "files.completeUploadExternal", args, nil)
}

// shared waits until the chat has the files that Slack took.
func (s *Slack) shared(ctx context.Context, m channel.Message, u *upload, thread *string) (channel.Receipt, error) {
	u.Taken = true
	for wait, end := firstLook, time.Now().Add(s.forShare); ; wait *= 2 {
		r, err := s.look(ctx, m, *u, thread)
		if r != nil || ctx.Err() != nil {
			return *cmp.Or(r, u.pending()), nil
		}
		if err != nil {
			s.Log.Info("ask whether a file is in its chat", "error", err)
		}
		if time.Now().Add(wait).After(end) {
			break
		}
		wake.Sleep(ctx, wait)
	}
	if err := u.save(ctx, m); err != nil { // without it, Find would let them be asked for again
		s.Log.Warn("note that Slack took a file", "error", err)
	}
	return *u.pending(), nil
}

// pending is the receipt while Slack has the files and the chat has not.
func (u *upload) pending() *channel.Receipt {
	return &channel.Receipt{ID: u.Files[0], Time: u.Asked, Pending: true}
}

// look asks Slack whether the chat has the files; nil if not, or not yet. Slack answers
// file_not_found for a file that it was never asked to show.
func (s *Slack) look(ctx context.Context, m channel.Message, u upload, thread *string) (*channel.Receipt, error) {
	info, _, _, err := s.api.slack.GetFileInfoContext(ctx, u.Files[0], 1, 1)
	if err != nil {
		return nil, s.api.refusal(err)
	}
	id := decode.IDOf(m.Chat)
	for _, share := range slices.Concat(info.Shares.Public[id], info.Shares.Private[id]) {
		if decode.IsTimestamp(share.Ts) {
			r := receipt(share.Ts, share.ThreadTs, thread)
			return &r, nil
		}
	}
	if !slices.Contains(slices.Concat(info.Channels, info.Groups, info.IMs), id) {
		return nil, nil
	}
	return s.search(ctx, id, thread, u.Asked, func(found *posted) bool { // where it is, and not in which message
		return slices.ContainsFunc(decode.FilesOf(found.Files), func(f decode.File) bool { return f.ID == u.Files[0] })
	})
}

// found returns the outcome of an earlier attempt that asked Slack to show files: a receipt, an
// error if it is not known yet, or neither if Slack may be asked again.
func (s *Slack) found(ctx context.Context, m channel.Message, u upload, thread *string) (*channel.Receipt, error) {
	r, err := s.look(ctx, m, u, thread)
	switch {
	case r != nil:
		return r, nil
	case err != nil && !webapi.Says(err, "file_not_found"):
		if channel.ClassOf(err) == channel.Permanent {
			err = &channel.Error{Code: "no_answer", Message: "Slack does not say whether the chat has the file", Hint: channel.Again, Err: err}
		}
		return nil, err
	case u.Taken && time.Since(u.Asked) > dropped:
		return nil, nil
	case u.Taken:
		return u.pending(), nil
	case err != nil: // it never came to that
		return nil, nil
	case time.Since(u.Asked) < unsure:
		return nil, &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Slack has the file, and the chat does not yet", RetryAfter: time.Until(u.Asked.Add(unsure))}
	}
	return nil, nil
}

// findFiles is Find for a message with files.
func (s *Slack) findFiles(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	u := stateOf(m)
	if u.Asked.IsZero() {
		return nil, nil
	}
	thread, err := s.threadOf(ctx, m)
	if unlessForm(err) != nil {
		return nil, err
	}
	return s.found(ctx, m, u, &thread)
}

// refusedIDs handles files that Slack does not find any more. If it knows them and was asked before
// to show them, it took them then. Otherwise it has lost the bytes, which are uploaded again.
func (s *Slack) refusedIDs(ctx context.Context, m channel.Message, u *upload, before bool) (channel.Receipt, error) {
	if before {
		if _, err := s.look(ctx, m, *u, new(string)); err == nil {
			u.Taken = true
			return *u.pending(), u.save(ctx, m)
		} else if !webapi.Says(err, "file_not_found") {
			return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Slack does not say whether the chat has the file", Err: err}
		}
	}
	*u = upload{}
	if err := u.save(ctx, m); err != nil {
		return channel.Receipt{}, err
	}
	return channel.Receipt{}, &channel.Error{Code: "upload_failed", Message: "Slack has forgotten the file's bytes", Hint: channel.Again}
}
