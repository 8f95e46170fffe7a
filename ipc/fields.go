package ipc

import "fmt"

// slot is the place of one field, whatever it is called.
type slot int

const (
	none slot = iota
	slotType
	slotChat
	slotFolder
	slotText
	slotSender
	slotReplyTo
	slotPath
	slotName
	slotMIME
	slotCaption
	slotAs
	slotFiles
	slotTime // from here on any scalar is taken
	slotID
	slotMain
	slotCreator
	slotAnswer
	slots
)

// requestSlot knows the keys of a request: v1's, its forks' and our own. id,
// isMain and createdBy appear in forks; they are read over, because what a
// container says of itself counts for nothing. So is responseFile, where a
// fork wants an answer: ours lies in results/.
func requestSlot(key string) slot {
	switch key {
	case "type":
		return slotType
	case "chatJid":
		return slotChat
	case "groupFolder":
		return slotFolder
	case "text":
		return slotText
	case "sender":
		return slotSender
	case "replyTo":
		return slotReplyTo
	case "filePath", "path":
		return slotPath
	case "fileName", "filename":
		return slotName
	case "mimeType", "mimetype":
		return slotMIME
	case "caption", "comment", "fileComment":
		return slotCaption
	case "as":
		return slotAs
	case "files":
		return slotFiles
	case "timestamp":
		return slotTime
	case "id":
		return slotID
	case "responseFile":
		return slotAnswer
	case "isMain":
		return slotMain
	case "createdBy":
		return slotCreator
	}
	return none
}

// fileSlot knows the keys of one entry of "files".
func fileSlot(key string) slot {
	switch key {
	case "path", "filePath":
		return slotPath
	case "name", "fileName", "filename":
		return slotName
	case "mimeType", "mimetype":
		return slotMIME
	case "caption":
		return slotCaption
	case "as":
		return slotAs
	}
	return none
}

// request turns the fields of any variant into one form.
func (v *values) request() (Request, *Refusal) {
	r := Request{
		Chat: v.text[slotChat], Folder: v.text[slotFolder], Sender: v.text[slotSender],
		ReplyTo: v.text[slotReplyTo], Time: v.text[slotTime],
	}
	switch typ := v.text[slotType]; typ {
	case "message":
		if len(v.files) == 0 {
			r.Type, r.Text = TypeMessage, v.text[slotText]
			return r, v.noFileFields()
		}
	case "file", "send_file", "send_files":
	case "":
		return r, refuse(CodeMissing, `key "type" is missing`, `write "type": "message" or "type": "file"`)
	default:
		return r, refuse(CodeUnknownType, "type "+quote(typ)+" is not known", `use "message" or "file"`)
	}
	r.Type = TypeFile
	var refusal *Refusal
	if r.Files, refusal = v.fileRefs(); refusal != nil {
		return r, refusal
	}
	v.caption(&r.Files[0])
	return r, nil
}

func (v *values) noFileFields() *Refusal {
	for _, s := range []slot{slotPath, slotName, slotMIME, slotCaption, slotAs} {
		if v.text[s] != "" {
			return refuse(CodeConflict, "a message names a file's fields but no file", `use "type": "file" with "filePath"`)
		}
	}
	return nil
}

// fileRefs is the one file of the top level, or the list.
func (v *values) fileRefs() ([]FileRef, *Refusal) {
	if len(v.files) == 0 {
		if v.text[slotPath] == "" {
			return nil, refuse(CodeMissing, "the request names no file", `give "filePath", or "files" with at least one`)
		}
		return []FileRef{{
			Path: v.text[slotPath], Name: v.text[slotName], MIME: v.text[slotMIME], As: v.text[slotAs],
		}}, nil
	}
	if v.text[slotPath] != "" || v.text[slotName] != "" || v.text[slotMIME] != "" {
		return nil, refuse(CodeConflict, `the request has "files" and the fields of a single file`, `put every file into "files"`)
	}
	refs := make([]FileRef, len(v.files))
	for i := range v.files {
		f := &v.files[i].text
		refs[i] = FileRef{Path: f[slotPath], Name: f[slotName], MIME: f[slotMIME], Caption: f[slotCaption], As: f[slotAs]}
		if refs[i].Path == "" {
			return nil, refuse(CodeMissing, fmt.Sprintf("file %d of the request has no path", i+1), `give each file a "filePath"`)
		}
		if refs[i].As == "" {
			refs[i].As = v.text[slotAs]
		}
	}
	return refs, nil
}

// caption puts the request's text and caption over the first file's own, so
// that no word is lost and nobody later has to look in three places.
func (v *values) caption(first *FileRef) {
	all := ""
	for _, s := range []string{v.text[slotText], v.text[slotCaption], first.Caption} {
		if all != "" && s != "" {
			all += "\n\n"
		}
		all += s
	}
	first.Caption = all
}
