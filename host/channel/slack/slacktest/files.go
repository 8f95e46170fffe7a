package slacktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// File is a file of a message. Its bytes lie on disk.
type File struct {
	ID, Name, Title, AltText, MIME string
	Size                           int64
	SHA256                         string // in hexadecimal

	path, origin, user string
}

// Bytes are the bytes of a file.
func (f File) Bytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// file is a file on its way: announced, uploaded, completed, shared.
type file struct {
	File
	state  state
	shares map[string]map[string][]object // public or private, by channel
}

type state int

const (
	announced state = iota
	uploaded
	completed
	shared
	deleted
)

const (
	filesMax = 14
	altMax   = 1000
	sizeMax  = 1 << 30
)

func (s *Server) newFile(name string, size int64) *file {
	id := s.newID("F")
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	f := &file{File: File{ID: id, Name: name, Title: name, MIME: kind, Size: size, path: filepath.Join(s.dir, id), origin: s.srv.URL, user: s.BotUser}, shares: map[string]map[string][]object{}}
	s.files[id] = f
	return f
}

// AddFile adds a member's file that no message here shows, and returns it as a message has
// it.
func (s *Server) AddFile(user, name string, data []byte) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addFile(user, name, data).wire()
}

func (s *Server) addFile(user, name string, data []byte) *file {
	f := s.newFile(name, int64(len(data)))
	f.user, f.state = user, shared
	if err := s.store(f, bytes.NewReader(data)); err != nil {
		panic("slacktest: " + err.Error())
	}
	return f
}

func (s *Server) getUploadURL(a args) (object, error) {
	size, err := strconv.ParseInt(a.str("length"), 10, 64)
	switch {
	case a.str("length") == "" || a.str("filename") == "" || err == nil && size == 0:
		return nil, refusal("missing_argument")
	case err != nil || size < 0:
		return nil, refusal("invalid_arguments")
	case size > sizeMax:
		return nil, refusal("file_upload_size_restricted")
	case utf8.RuneCountInString(a.str("alt_txt")) > altMax:
		return nil, refusal("alt_txt_too_large")
	}
	f := s.newFile(a.str("filename"), size)
	f.AltText = a.str("alt_txt")
	return object{"file_id": f.ID, "upload_url": s.srv.URL + "/upload/v1/" + f.ID}, nil
}

type announcedFile struct{ ID, Title string }

func (s *Server) complete(a args) (object, error) {
	var named []announcedFile
	if err := json.Unmarshal([]byte(a.str("files")), &named); err != nil || len(named) == 0 {
		return nil, refusal("invalid_arguments")
	}
	if len(named) > filesMax {
		return nil, refusal("internal_error")
	}
	if id := a.str("channel_id"); id != "" {
		if _, err := s.writable(id); err != nil {
			return nil, err
		}
	}
	if thread := a.str("thread_ts"); thread != "" && !timeStamp.MatchString(thread) {
		return nil, refusal("invalid_thread_ts")
	}
	files := []object{}
	for _, n := range named {
		f, ok := s.files[n.ID]
		if !ok || f.state != uploaded {
			return nil, refusal("file_not_found")
		}
		f.Title = cmp.Or(n.Title, f.Title)
		files = append(files, f.read())
	}
	for _, n := range named {
		s.files[n.ID].state = completed
	}
	return object{"files": files}, nil
}

// share makes completed files a message, after the answer.
func (s *Server) share(a args, f Fault) {
	if f.Share != nil {
		f.Share()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.channel(a.str("channel_id"))
	if f.NoShare || ch == nil {
		return
	}
	var named []announcedFile
	_ = json.Unmarshal([]byte(a.str("files")), &named) // complete has read it
	m := &Message{Thread: a.str("thread_ts"), User: s.BotUser, BotID: s.BotID, Text: a.str("initial_comment")}
	for _, n := range named {
		m.Files = append(m.Files, s.files[n.ID].File)
	}
	s.post(ch, m)
	for _, n := range named {
		s.files[n.ID].addShare(ch, m)
	}
}

func (f *file) addShare(ch *channel, m *Message) {
	f.state = shared
	where := "private"
	if ch.kind == Public {
		where = "public"
	}
	if f.shares[where] == nil {
		f.shares[where] = map[string][]object{}
	}
	share := object{"ts": m.TS, "channel_name": ch.name, "team_id": "T0LOOPBACK", "reply_users": []string{}, "reply_count": 0}
	if m.Thread != "" {
		share["thread_ts"] = m.Thread
	}
	f.shares[where][ch.id] = append(f.shares[where][ch.id], share)
}

func (s *Server) fileInfo(a args) (object, error) {
	f, ok := s.files[a.str("file")]
	if !ok || f.state < completed || f.state == deleted {
		return nil, refusal("file_not_found")
	}
	o := f.read()
	if s.Vague {
		delete(o, "shares")
	}
	return object{"file": o, "comments": []object{}, "paging": object{"count": 100, "total": 0, "page": 1, "pages": 0}}, nil
}

// named are the files of chat.update's file_ids.
func (s *Server) named(ids string) (files []File, err error) {
	var all []string
	if ids != "" && json.Unmarshal([]byte(ids), &all) != nil {
		return nil, refusal("invalid_arguments")
	}
	for _, id := range all {
		f, ok := s.files[id]
		if !ok || f.state != shared {
			return nil, refusal("file_not_found")
		}
		files = append(files, f.File)
	}
	return files, nil
}

// deleteFile deletes a file of the bot, and with it a message that has nothing else.
func (s *Server) deleteFile(a args) (object, error) {
	f, ok := s.files[a.str("file")]
	switch {
	case !ok:
		return nil, refusal("file_not_found")
	case f.state == deleted:
		return nil, refusal("file_deleted")
	case f.user != s.BotUser:
		return nil, refusal("cant_delete_file")
	}
	f.state = deleted
	for _, ch := range s.channels {
		for _, m := range slices.Clone(ch.messages) {
			before := len(m.Files)
			m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(of File) bool { return of.ID == f.ID })
			if before > 0 && len(m.Files) == 0 && m.Text == "" {
				s.remove(ch, m)
			}
		}
	}
	return object{}, nil
}

// read is a file as files.info shows it. The lock is held.
func (f *file) read() object {
	o := f.wire()
	o["shares"] = f.shares
	for list, kind := range map[string]string{"channels": "public", "groups": "private"} {
		o[list] = append([]string{}, slices.Sorted(maps.Keys(f.shares[kind]))...)
	}
	return o
}

// wire is a file as a message has it.
func (f File) wire() object {
	link := f.origin + "/files-pri/" + f.ID + "/" + url.PathEscape(f.Name)
	return object{
		"id": f.ID, "user": f.user, "name": f.Name, "title": f.Title, "alt_txt": f.AltText, "mimetype": f.MIME, "size": f.Size, "mode": "hosted",
		"filetype": strings.TrimPrefix(filepath.Ext(f.Name), "."), "url_private": link, "url_private_download": link + "?download=1",
	}
}

// HasFile says whether the workspace has a file.
func (s *Server) HasFile(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[id]
	return ok && f.state != deleted
}
