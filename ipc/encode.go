package ipc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// wireRequest is a request as it is written, in v1's field names and order.
type wireRequest struct {
	Type    Type       `json:"type"`
	Chat    string     `json:"chatJid,omitempty"`
	Folder  string     `json:"groupFolder,omitempty"`
	Text    string     `json:"text,omitempty"`
	Sender  string     `json:"sender,omitempty"`
	ReplyTo string     `json:"replyTo,omitempty"`
	Thread  string     `json:"thread,omitempty"`
	Turn    string     `json:"turn,omitempty"`
	Bound   string     `json:"conversation,omitempty"`
	Results string     `json:"results,omitempty"`
	Files   []wireFile `json:"files,omitempty"`
	wireFile
	Time string `json:"timestamp,omitempty"`
	wireAction
}

type wireAction struct {
	Target        string   `json:"target,omitempty"`
	Emoji         string   `json:"emoji,omitempty"`
	Choices       []string `json:"choices,omitempty"`
	Several       bool     `json:"several,omitempty"`
	Seconds       int      `json:"seconds,omitempty"`
	TaskID        string   `json:"taskId,omitempty"`
	Prompt        string   `json:"prompt,omitempty"`
	ScheduleType  string   `json:"schedule_type,omitempty"`
	ScheduleValue string   `json:"schedule_value,omitempty"`
	ContextMode   string   `json:"context_mode,omitempty"`
	TargetJID     string   `json:"targetJid,omitempty"`
	TaskName      string   `json:"name,omitempty"`
	JID           string   `json:"jid,omitempty"`
	NewFolder     string   `json:"folder,omitempty"`
	Trigger       string   `json:"trigger,omitempty"`
	Limit         int      `json:"limit,omitempty"`
	Before        string   `json:"before,omitempty"`
	Number        int      `json:"number,omitempty"`
}

type wireFile struct {
	Path    string `json:"filePath,omitempty"`
	Name    string `json:"fileName,omitempty"`
	MIME    string `json:"mimeType,omitempty"`
	Caption string `json:"caption,omitempty"`
	Alt     string `json:"alt,omitempty"`
	As      string `json:"as,omitempty"`
	From    string `json:"copiedFrom,omitempty"`
	Source  string `json:"printedFrom,omitempty"`
}

// Encode returns a request as indented JSON, which Decode reads back unchanged.
// NanoClaw v1 and its forks can read a message and a request with one file. If the
// request breaks a limit, the error is a *Refusal and permanent.
func Encode(r Request) ([]byte, error) { return encode(r, TypeFile) }

// encode is Encode with a choice of the type for a request with one file.
func encode(r Request, file Type) ([]byte, error) {
	if refusal := r.check(); refusal != nil {
		return nil, refusal
	}
	w := wireRequest{
		Type: r.Type, Chat: r.Chat, Folder: r.Folder, Text: r.Text,
		Sender: r.Sender, ReplyTo: r.ReplyTo, Thread: r.Thread, Turn: r.Turn, Bound: r.Conversation, Time: r.Time,
		wireAction: wireAction{
			r.Target, r.Emoji, r.Choices, r.Several, r.Seconds, r.TaskID, r.Prompt, r.ScheduleType, r.ScheduleValue,
			r.ContextMode, r.TargetJID, r.Name, r.JID, r.NewFolder, r.Trigger, r.Limit, r.Before, r.Number,
		},
	}
	if r.Batch {
		w.Results = batchResults
	}
	if r.Type == TypeFile && len(r.Files) == 1 {
		w.Type, w.wireFile = file, wireFile(r.Files[0])
	} else {
		for _, f := range r.Files {
			w.Files = append(w.Files, wireFile(f))
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if buf.Len() > MaxRequest {
		return nil, tooLarge(int64(buf.Len()))
	}
	return buf.Bytes(), nil
}
