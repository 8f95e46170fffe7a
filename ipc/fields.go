package ipc

import "fmt"

// written is a request as it was written, with v1's keys, its forks' and our own.
type written struct {
	Type        text    `json:"type"`
	Chat        text    `json:"chatJid"`
	Folder      text    `json:"groupFolder"`
	Text        text    `json:"text"`
	Sender      text    `json:"sender"`
	ReplyTo     text    `json:"replyTo"`
	Comment     text    `json:"comment"`
	FileComment text    `json:"fileComment"`
	Time        scalar  `json:"timestamp"`
	Files       entries `json:"files"`
	fileKeys

	// Forks write these. They are read over: what a container says of itself counts
	// for nothing, and answers lie in results/.
	ID      scalar `json:"id"`
	Main    scalar `json:"isMain"`
	Creator scalar `json:"createdBy"`
	Answer  scalar `json:"responseFile"`
}

// fileKeys are the keys of one file, in every spelling.
type fileKeys struct {
	FilePath text `json:"filePath"`
	Path     text `json:"path"`
	FileName text `json:"fileName"`
	Filename text `json:"filename"`
	MIMEType text `json:"mimeType"`
	Mimetype text `json:"mimetype"`
	Caption  text `json:"caption"`
	As       text `json:"as"`
}

// entry is one of "files".
type entry struct {
	fileKeys
	Name text `json:"name"`
}

// spellings reads keys that have several spellings, and remembers the first that
// was given in two of them.
type spellings struct{ twice *Refusal }

func (s *spellings) of(key string, all ...text) (value string) {
	given := false
	for _, t := range all {
		if t.given && given && s.twice == nil {
			s.twice = duplicate(key)
		}
		if t.given {
			value, given = t.value, true
		}
	}
	return value
}

// ref is the file that the keys describe. name and captions have further spellings.
func (k *fileKeys) ref(s *spellings, name text, captions ...text) FileRef {
	return FileRef{
		Path: s.of("filePath", k.FilePath, k.Path), Name: s.of("fileName", k.FileName, k.Filename, name),
		MIME: s.of("mimeType", k.MIMEType, k.Mimetype), Caption: s.of("caption", captions...), As: k.As.value,
	}
}

// request turns the fields of any variant into one form.
func (w *written) request() (Request, *Refusal) {
	r := Request{
		Chat: w.Chat.value, Folder: w.Folder.value, Sender: w.Sender.value,
		ReplyTo: w.ReplyTo.value, Time: string(w.Time),
	}
	var s spellings
	own := w.ref(&s, text{}, w.Caption, w.Comment, w.FileComment)
	var listed []FileRef
	for i := range w.Files {
		f := &w.Files[i]
		listed = append(listed, f.ref(&s, f.Name, f.Caption))
	}
	if s.twice != nil {
		return r, s.twice
	}
	switch typ := w.Type.value; {
	case typ == "message" && len(listed) == 0:
		r.Type, r.Text = TypeMessage, w.Text.value
		if own != (FileRef{}) {
			return r, refuse(CodeConflict, "a message names a file's fields but no file", `use "type": "file" with "filePath"`)
		}
		return r, nil
	case typ == "":
		return r, refuse(CodeMissing, `key "type" is missing`, `write "type": "message" or "type": "file"`)
	case typ != "message" && typ != "file" && typ != "send_file" && typ != "send_files":
		return r, refuse(CodeUnknownType, "type "+quote(typ)+" is not known", `use "message" or "file"`)
	}
	var refusal *Refusal
	r.Type = TypeFile
	r.Files, refusal = files(own, listed)
	if refusal == nil {
		r.Files[0].Caption = joinWords(w.Text.value, own.Caption, r.Files[0].Caption)
	}
	return r, refusal
}

// files are the listed ones, or the one of the top level, whose caption stays there.
func files(own FileRef, listed []FileRef) ([]FileRef, *Refusal) {
	if len(listed) == 0 {
		if own.Path == "" {
			return nil, refuse(CodeMissing, "the request names no file", `give "filePath", or "files" with at least one`)
		}
		own.Caption = ""
		return []FileRef{own}, nil
	}
	if own.Path != "" || own.Name != "" || own.MIME != "" {
		return nil, refuse(CodeConflict, `the request has "files" and the fields of a single file`, `put every file into "files"`)
	}
	for i := range listed {
		if listed[i].Path == "" {
			return nil, refuse(CodeMissing, fmt.Sprintf("file %d of the request has no path", i+1), `give each file a "filePath"`)
		}
		if listed[i].As == "" {
			listed[i].As = own.As
		}
	}
	return listed, nil
}

// joinWords puts the request's text and caption over the first file's own, so that
// no word is lost and nobody later has to look in three places.
func joinWords(all ...string) (joined string) {
	for _, s := range all {
		if joined != "" && s != "" {
			joined += "\n\n"
		}
		joined += s
	}
	return joined
}
