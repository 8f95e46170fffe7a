package discordtest

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Document has a member write a message into a channel, a thread or a direct message, by
// Discord's own document, such as one of its documentation. The server fills in what is
// missing, and where and by whom it is; with no user the document's own author wrote it.
func (s *Server) Document(channel, user, doc string) string {
	m := &Message{Channel: channel, Author: user, raw: parse(doc)}
	for _, mine := range []string{"id", "channel_id", "guild_id"} {
		delete(m.raw, mine)
	}
	if user != "" {
		delete(m.raw, "author")
	} else if author, ok := m.raw["author"].(object); ok {
		m.Author = fmt.Sprint(author["id"])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(s.must(channel), m).ID
}

// Change gives a message another document, and makes the event of a change.
func (s *Server) Change(channel, id, doc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.must(channel).message(id); m != nil {
		m.raw = parse(doc)
		s.dispatch("MESSAGE_UPDATE", s.object(m, false))
	}
}

// Dispatch makes an event of any kind of any document.
func (s *Server) Dispatch(kind, doc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(kind, parse(doc))
}

func parse(doc string) (o object) {
	if err := json.Unmarshal([]byte(doc), &o); err != nil {
		panic(fmt.Sprintf("discordtest: %v in %s", err, doc))
	}
	return o
}

// Attachment puts a file on the file server, and returns it as documents have it.
func (s *Server) Attachment(channel, name, mime string, data []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := File{MIME: mime, Size: int64(len(data))}
	f.Name, f.Title = named(name)
	s.keep(&f, channel, data)
	doc, err := json.Marshal(f.object())
	if err != nil {
		panic(err)
	}
	return string(doc)
}

// AddSticker puts the picture of a sticker on the file server, and returns the sticker's id.
// extension is png or gif.
func (s *Server) AddSticker(extension string, data []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.newID()
	s.files["/stickers/"+id+"."+extension] = data
	return id
}

// Rename gives a member another name.
func (s *Server) Rename(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if u.id == id {
			u.name = name
		}
	}
}

// object is a file as the API shows it.
func (f *File) object() object {
	o := object{"id": f.ID, "filename": f.Name, "size": f.Size, "content_type": f.MIME, "url": f.URL, "proxy_url": f.URL}
	if f.Title != "" {
		o["title"] = f.Title
	}
	return o
}

// named is what Discord makes of a file's name: one with characters that it does not
// take has another name, and its own, without the extension, is the title.
func named(name string) (filename, title string) {
	plain := func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("0123456789._-", r)) {
			return r
		}
		return '_'
	}
	if filename = strings.Map(plain, name); filename == name {
		return name, ""
	}
	return filename, strings.TrimSuffix(name, path.Ext(name))
}
