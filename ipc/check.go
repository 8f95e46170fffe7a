package ipc

import (
	"fmt"
	"strings"
)

// check checks a request against the protocol's limits. Encode and Decode both call
// it, so that Decode accepts everything that Encode writes.
func (r *Request) check() *Refusal {
	for _, f := range []struct {
		key, value string
		most       int
	}{
		{"chatJid", r.Chat, maxField}, {"groupFolder", r.Folder, maxField}, {"sender", r.Sender, maxField},
		{"replyTo", r.ReplyTo, maxField}, {"thread", r.Thread, maxField}, {"turn", r.Turn, maxField},
		{"conversation", r.Conversation, maxField}, {"timestamp", r.Time, maxField}, {"text", r.Text, MaxText},
	} {
		if refusal := checkField(f.key, f.value, f.most); refusal != nil {
			return refusal
		}
	}
	switch r.Type {
	case TypeMessage:
		if strings.TrimSpace(r.Text) == "" {
			return refuse(CodeMissing, "the message has no text", `give "text"`)
		}
		if len(r.Files) > 0 {
			return refuse(CodeConflict, "a message has no files", `use "type": "file"`)
		}
		return nil
	case TypeFile:
		return r.checkFiles()
	}
	if keys, ok := keysOf[r.Type]; ok {
		return r.checkAction(keys)
	}
	return refuse(CodeUnknownType, "type "+quote(string(r.Type))+" is not known", knownTypes)
}

func (r *Request) checkFiles() *Refusal {
	switch {
	case len(r.Files) == 0:
		return refuse(CodeMissing, "the request names no file", `give "filePath", or "files" with at least one`)
	case len(r.Files) > MaxFiles:
		return tooManyFiles()
	case r.Text != "":
		return refuse(CodeConflict, "a file request has no text of its own", "make it the first file's caption")
	}
	for _, f := range r.Files {
		if f.Path == "" {
			return refuse(CodeMissing, "a file of the request has no path", `give each file a "filePath"`)
		}
		if refusal := f.check(); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (f *FileRef) check() *Refusal {
	switch f.As {
	case "", "auto", "document", "voice", "gif", "sticker", "original":
	default:
		return refuse(CodeUnknownStyle, `"as" is `+quote(f.As), "use auto, document, voice, gif, sticker or original")
	}
	refusal := checkField("filePath", f.Path, MaxPath)
	if refusal == nil {
		refusal = checkField("copiedFrom", f.From, MaxPath)
	}
	if refusal == nil {
		refusal = checkField("printedFrom", f.Source, MaxPath)
	}
	if refusal == nil {
		refusal = checkField("fileName", f.Name, maxName)
	}
	if refusal == nil {
		refusal = checkField("mimeType", f.MIME, maxField)
	}
	if refusal == nil {
		refusal = checkField("caption", f.Caption, MaxText)
	}
	if refusal == nil {
		refusal = checkField("alt", f.Alt, MaxAlt)
	}
	return refusal
}

func checkField(key, value string, most int) *Refusal {
	if len(value) > most {
		return refuse(CodeTooLong, fmt.Sprintf("%q has %d bytes; the limit is %d", key, len(value), most),
			"shorten it; a long text can go as a file")
	}
	return checkText(key, value)
}
