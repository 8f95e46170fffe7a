package ipc

import "fmt"

// written is the JSON form of a request, with the keys of v1, of its forks, and of
// Longshore.
type written struct {
	Type        text    `json:"type"`
	Chat        text    `json:"chatJid"`
	Folder      text    `json:"groupFolder"`
	Text        text    `json:"text"`
	Sender      text    `json:"sender"`
	ReplyTo     text    `json:"replyTo"`
	Thread      text    `json:"thread"`
	Turn        text    `json:"turn"`
	Bound       text    `json:"conversation"`
	Results     text    `json:"results"`
	Comment     text    `json:"comment"`
	FileComment text    `json:"fileComment"`
	Time        scalar  `json:"timestamp"`
	Files       entries `json:"files"`
	fileKeys
	actionKeys

	// Forks write these keys. They are ignored: the container's statements about
	// itself do not count, and answers are written to results/.
	ID      scalar `json:"id"`
	Main    scalar `json:"isMain"`
	Creator scalar `json:"createdBy"`
	Answer  scalar `json:"responseFile"`
}

// batchResults is the one value of "results".
const batchResults = "batch"

// fileKeys are the keys of one file, in every spelling.
type fileKeys struct {
	FilePath text `json:"filePath"`
	Path     text `json:"path"`
	FileName text `json:"fileName"`
	Filename text `json:"filename"`
	MIMEType text `json:"mimeType"`
	Mimetype text `json:"mimetype"`
	Caption  text `json:"caption"`
	Alt      text `json:"alt"`
	From     text `json:"copiedFrom"`
	Source   text `json:"printedFrom"`
	As       text `json:"as"`
}

// entry is one element of "files".
type entry struct {
	fileKeys
	Name text `json:"name"`
}

// spellings reads keys that have several spellings. It remembers the first key that
// was given in two spellings.
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

// ref returns the file that the keys describe. name and captions are further
// spellings of two keys.
func (k *fileKeys) ref(s *spellings, name text, captions ...text) FileRef {
	return FileRef{
		Path: s.of("filePath", k.FilePath, k.Path), Name: s.of("fileName", k.FileName, k.Filename, name),
		MIME: s.of("mimeType", k.MIMEType, k.Mimetype), Caption: s.of("caption", captions...), Alt: k.Alt.value, As: k.As.value, From: k.From.value, Source: k.Source.value,
	}
}

// request converts the fields of any variant to a Request.
func (w *written) request() (Request, *Refusal) {
	r := Request{
		Chat: w.Chat.value, Folder: w.Folder.value, Sender: w.Sender.value,
		ReplyTo: w.ReplyTo.value, Thread: w.Thread.value, Turn: w.Turn.value, Conversation: w.Bound.value, Time: string(w.Time),
		Batch: w.Results.value == batchResults,
	}
	if w.Results.given && !r.Batch {
		return r, refuse(CodeWrongValue, `key "results" is `+quote(w.Results.value), `write "results": "batch", or leave the key out`)
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
	if keys, ok := keysOf[Type(w.Type.value)]; ok {
		r.Type = Type(w.Type.value)
		return w.action(r, keys, len(listed) > 0 || own != (FileRef{}))
	}
	if extra := w.given(nil); extra != "" && w.Type.value != "" {
		return r, notOf(w.Type.value, extra)
	}
	switch typ := w.Type.value; {
	case typ == "message" && len(listed) == 0:
		r.Type, r.Text = TypeMessage, w.Text.value
		if own != (FileRef{}) {
			return r, refuse(CodeConflict, "a request of type \"message\" has fields of a file", `use "type": "file" with "filePath"`)
		}
		return r, nil
	case typ == "":
		return r, refuse(CodeMissing, `key "type" is missing`, `write "type": "message" or "type": "file"`)
	case typ != "message" && typ != "file" && typ != "send_file" && typ != "send_files":
		return r, refuse(CodeUnknownType, "type "+quote(typ)+" is not known", knownTypes)
	}
	var refusal *Refusal
	r.Type = TypeFile
	r.Files, refusal = files(own, listed)
	if refusal == nil {
		r.Files[0].Caption = joinWords(w.Text.value, own.Caption, r.Files[0].Caption)
	}
	return r, refusal
}

// files returns the listed files, or else the single file of the top level. The
// caller takes the caption of the top level from own.
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

// joinWords joins the request's text, its caption and the first file's caption, so
// that no text is lost and the rest of the program reads one caption only.
func joinWords(all ...string) (joined string) {
	for _, s := range all {
		if joined != "" && s != "" {
			joined += "\n\n"
		}
		joined += s
	}
	return joined
}
