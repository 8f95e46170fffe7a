// Package sender sends an assistant's files and texts to its chat. It checks a file
// before anything is written, stages a copy if the host cannot open the file, puts
// the request into the queue, waits for the result and explains it.
//
// The MCP tools and the command line both use it. It is no security boundary: it
// runs on the assistant's side of the mount, so the host checks everything again.
//
//	<ipc>/messages/<id>.json      one request a call; one a file where the host gives no receipts
//	<ipc>/files/<uuid>/<name>     a copy of a file that lies on no shared mount
package sender

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/ipc"
)

// ErrKeep is the cause with which a context ends if the program is exiting: queued
// requests stay queued. With any other cause, requests that the host has not
// accepted yet are withdrawn.
var ErrKeep = errors.New("the program is leaving")

// File is one file to send, as the assistant describes it.
type File struct {
	Path    string // absolute, relative to the working directory, ~/… or file://…
	Name    string // name in the chat; empty: the last element of Path
	MIME    string // empty: derived from name and content
	Caption string
	Alt     string // what it shows, in words
	As      string // auto, document, voice, gif, sticker, original; empty is auto

	source *source // what Path was printed from; nil: it was not printed
}

// source is the text of a print, which the host screens beside it.
type source struct {
	path string // of the document; empty: the text stood in the call
	name string // of its copy
	text []byte
}

// Options are the settings of one call.
type Options struct {
	Chat     string                            // another chat than the group's own; if the host allows it
	Thread   string                            // another thread than the turn's own
	ReplyTo  string                            // the platform's id of the message to answer
	Key      string                            // makes a repeated call the same request; only where Keys reports so
	NoWait   bool                              // return as soon as the request is queued
	Wait     time.Duration                     // how long the call waits for its result; 0: Config.Wait
	Copy     bool                              // stage every file, so that the caller may delete the original after the call
	Progress func(p ipc.Progress, text string) // called while bytes are being sent; may be nil
}

// Sender serves the calls of one group. Its methods may be called concurrently. It
// starts no goroutines.
type Sender struct {
	config Config
	client Client
	files  Files
	queue  *queue // nil: the client is another one

	mu     sync.Mutex
	staged map[string][]string // request id -> staged copies to remove once the request is final
}

// Main reports whether the group is the main group.
func (s *Sender) Main() bool { return s.config.Main }

// NamesChats reports whether the group may send to another chat than its own, as far as
// the host has said.
func (s *Sender) NamesChats() bool { return s.config.Main || len(s.host().context.Chats) > 0 }

// Keys reports whether Options.Key counts here. Otherwise, each call is a request of its own.
func (s *Sender) Keys() bool { return s.queue == nil }

// Threads reports whether the chat has threads, as far as the host has said.
func (s *Sender) Threads() bool { return s.config.Turn != "" }

// SendFiles sends files in order as one request, all or none: each file is checked
// before anything is written. If the caller can act on an error, it is a *Problem. A
// Report without an error may still describe a refusal or a failure. If ctx ends
// before the host has accepted the request, the request is withdrawn, except with
// the cause ErrKeep.
func (s *Sender) SendFiles(ctx context.Context, files []File, o Options) (Report, error) {
	if len(files) == 0 {
		return Report{}, problem("invalid_argument", "no file was named", "give the path of at least one file")
	}
	if len(files) > ipc.MaxFiles {
		return Report{}, problem("too_many_files", fmt.Sprintf("the call names %d files; the limit is %d", len(files), ipc.MaxFiles),
			"send them in several calls, or pack them into one archive")
	}
	if s.files == FilesHosts {
		return s.sendNamed(ctx, files, o)
	}
	host := s.host()
	checked := make([]checkedFile, 0, len(files))
	defer func() {
		for _, c := range checked {
			c.file.Close()
		}
	}()
	for i, f := range files {
		c, err := s.check(f, host)
		if err != nil {
			return Report{}, inFile(err, i, len(files))
		}
		checked = append(checked, c)
	}
	req := s.request(ipc.TypeFile, o)
	var staged []string
	parts := make([]Part, 0, len(files))
	for i, c := range checked {
		from := ""
		if c.container == "" || o.Copy {
			path, err := s.stage(ctx, c)
			if err != nil {
				s.unstage(staged)
				return Report{}, inFile(err, i, len(files))
			}
			staged = append(staged, path)
			c.container, from = path, c.origin
		} else if c.linked { // the host opens the real path, and learns of the other one
			from = c.claim.Path
		}
		printed := ""
		if src := c.claim.source; src != nil {
			path, err := s.copyIn(ctx, src.name, bytes.NewReader(src.text))
			if err != nil {
				s.unstage(staged)
				return Report{}, s.dropProblem(err)
			}
			staged = append(staged, path)
			printed, from = path, src.path
		}
		req.Files = append(req.Files, ipc.FileRef{
			Path: c.container, From: from, Source: printed, Name: c.info.Name, MIME: s.mime(c), Caption: c.claim.Caption, Alt: c.claim.Alt, As: c.claim.As})
		parts = append(parts, Part{Name: c.info.Name, Kind: string(c.info.Kind), Size: c.info.Size, Note: c.info.Note})
	}
	return s.deliver(ctx, req, parts, staged, o)
}

// SendText sends one text message. The host splits a text that is longer than
// one message of the channel. Errors are those of SendFiles.
func (s *Sender) SendText(ctx context.Context, text string, o Options) (Report, error) {
	if !utf8.ValidString(text) {
		return Report{}, problem("invalid_argument", "the text is not valid UTF-8", "send text only; send anything else as a file")
	}
	if len(text) > ipc.MaxText {
		return Report{}, problem("too_large", fmt.Sprintf("the text has %d bytes; a message may have %d", len(text), ipc.MaxText),
			"write it into a file and send that, or send it in parts")
	}
	if isBlank(text) {
		return Report{}, problem("invalid_argument", "the text is empty", "give the text to send")
	}
	req := s.request(ipc.TypeMessage, o)
	req.Text = text
	return s.deliver(ctx, req, []Part{{Kind: "text"}}, nil, o)
}

func (s *Sender) request(t ipc.Type, o Options) ipc.Request {
	chat := cmp.Or(o.Chat, s.config.Chat)
	return ipc.Request{Type: t, Chat: chat, Folder: s.config.Folder, ReplyTo: o.ReplyTo, Thread: o.Thread, Turn: s.config.Turn,
		Time: time.Now().UTC().Format(time.RFC3339Nano)}
}

// deliver queues a request and waits for its result. From Enqueue on the request is
// durable, so the end of ctx does not interrupt Enqueue.
func (s *Sender) deliver(ctx context.Context, req ipc.Request, parts []Part, staged []string, o Options) (Report, error) {
	if err := ctx.Err(); err != nil {
		s.unstage(staged)
		return Report{}, fmt.Errorf("queue request: %w", err)
	}
	known := Report{Chat: req.Chat, Status: string(ipc.Queued), Files: parts}
	if !s.receipts() {
		return s.deliverBlind(ctx, req, known, staged)
	}
	id, err := s.client.Enqueue(context.WithoutCancel(ctx), req, ipc.TypeFile, o.Key)
	if err != nil {
		s.unstage(staged)
		return Report{}, s.dropProblem(err)
	}
	s.remember(id, staged)
	known.ID = id
	if o.NoWait {
		return known.inWords(withoutWaiting, 0, s.config.Ask), nil
	}
	started := time.Now()
	wait, cancel := context.WithTimeout(ctx, cmp.Or(o.Wait, s.config.Wait))
	defer cancel()
	result, err := s.client.Wait(wait, id, func(r ipc.Result) {
		if r.Code == ipc.CodeAwaiting { // a person takes longer than a tool can wait
			cancel()
		}
		if o.Progress != nil && r.Progress != nil {
			o.Progress(*r.Progress, progressWords(*r.Progress))
		}
	})
	if err != nil {
		return Report{}, fmt.Errorf("wait for the result of %s: %w", id, err)
	}
	if ctx.Err() != nil && !result.Status.Final() && !errors.Is(context.Cause(ctx), ErrKeep) {
		if report, ok := s.withdraw(id, known); ok {
			return report, nil
		}
	}
	s.forget(id, result)
	return known.with(result).inWords(s.occasion(id, afterWaiting), time.Since(started), s.config.Ask), nil
}

// occasion returns notTaken while the request is still in the queue, and usual
// otherwise.
func (s *Sender) occasion(id string, usual occasion) occasion {
	if s.queue != nil && s.queue.waits(id) {
		return notTaken
	}
	return usual
}

// withdraw withdraws a request. False means that the host has already taken the
// request.
func (s *Sender) withdraw(id string, known Report) (Report, bool) {
	if gone, err := s.client.Withdraw(id); err != nil || !gone {
		return Report{}, false
	}
	s.forget(id, ipc.Result{Status: withdrawn})
	known.Status = string(withdrawn)
	return known.inWords(afterWaiting, 0, s.config.Ask), true
}

// Status reports the state of an earlier call's request. An error for an unknown or
// invalid id, or from a host without receipts, is a *Problem and permanent.
func (s *Sender) Status(id string) (Report, error) {
	if !ipc.ValidID(id) {
		return Report{}, problem("invalid_argument", "that is not a request id: "+quoted(id), "use the id exactly as send_file or send_message returned it")
	}
	return s.status(Report{ID: id, Chat: s.config.Chat})
}

// status is Status for a request of which known is known.
func (s *Sender) status(known Report) (Report, error) {
	id := known.ID
	result, err := s.client.Status(id)
	if err != nil {
		return Report{}, fmt.Errorf("read status of %s: %w", id, asProblem(err))
	}
	if result.Code == ipc.CodeNoReceipts {
		return Report{}, problem(result.Code, "this host gives no receipts, so the state of "+id+" is unknown",
			"ask a member of the chat whether it arrived")
	}
	s.forget(id, result)
	known.Status = string(ipc.Queued)
	return known.with(result).inWords(s.occasion(id, whenAsked), 0, s.config.Ask), nil
}

// receipts reports whether the host writes results.
func (s *Sender) receipts() bool { return s.queue == nil || s.queue.receipts() }

// remember notes the staged copies of a request. At a host elsewhere, they are the host's from
// then on.
func (s *Sender) remember(id string, staged []string) {
	if len(staged) == 0 || s.queue == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staged[id] = staged
}

// forget removes the staged copies of a request that is final. Until then the host
// may still have to open them.
func (s *Sender) forget(id string, result ipc.Result) {
	if !result.Status.Final() {
		return
	}
	s.mu.Lock()
	staged := s.staged[id]
	delete(s.staged, id)
	s.mu.Unlock()
	s.unstage(staged)
}

func (s *Sender) unstage(staged []string) {
	for _, path := range staged {
		_ = s.client.Unstage(path) // the host deletes the rest
	}
}
