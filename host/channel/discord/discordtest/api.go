package discordtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// refusal is an error as the API answers it.
type refusal struct {
	status, code int
	message      string
}

func (r refusal) Error() string { return r.message }

var (
	unknownChannel = refusal{404, 10003, "Unknown Channel"}
	unknownMessage = refusal{404, 10008, "Unknown Message"}
)

func invalid(why string) refusal { return refusal{400, 50035, "Invalid Form Body: " + why} }

// call is a request of the API. It is served with the lock held.
type call struct {
	*http.Request
	body []byte // of JSON, or payload_json
	file []File // with their bytes in Server.files
}

// routes are the kinds of requests.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, r := range map[string]struct {
		kind string
		do   func(*call) (any, error)
	}{
		"GET /users/@me":                                                      {"me", func(*call) (any, error) { return s.user(s.BotID), nil }},
		"GET /users/@me/guilds":                                               {"guilds", func(*call) (any, error) { return []object{{"id": GuildID, "name": "Harbour"}}, nil }},
		"GET /guilds/{guild}/channels":                                        {"channels", func(*call) (any, error) { return s.guild()["channels"], nil }},
		"GET /applications/@me":                                               {"application", s.application},
		"GET /gateway/bot":                                                    {"gateway", s.gatewayURL},
		"GET /channels/{channel}":                                             {"channel", s.getChannel},
		"GET /channels/{channel}/messages":                                    {"messages", s.getMessages},
		"GET /channels/{channel}/messages/{message}":                          {"message", s.getMessage},
		"POST /channels/{channel}/messages":                                   {"create", s.create},
		"PATCH /channels/{channel}/messages/{message}":                        {"edit", s.edit},
		"DELETE /channels/{channel}/messages/{message}":                       {"delete", s.remove},
		"PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me":    {"react", s.react},
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me": {"unreact", s.unreact},
		"POST /channels/{channel}/typing":                                     {"typing", s.typing},
		"GET /guilds/{guild}":                                                 {"guild", func(*call) (any, error) { return s.guild(), nil }},
		"GET /guilds/{guild}/members/{user}":                                  {"member", s.member},
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v10"+path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r.kind, r.do) })
	}
	mux.HandleFunc("GET /gateway", s.socket)
	mux.HandleFunc("GET /gateway/", s.socket)
	mux.HandleFunc("GET /attachments/{channel}/{file}/{name}", s.download)
	return mux
}

// serve reads a request whole, and does what it asks for.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, kind string, do func(*call) (any, error)) {
	f := s.fault(kind)
	if f.Unread {
		breaks(w)
		return
	}
	if r.Header.Get("Authorization") != "Bot "+s.Token {
		writeJSON(w, 401, object{"message": "401: Unauthorized", "code": 0})
		return
	}
	c := &call{Request: r}
	err := s.read(c)
	if err == nil && f.instead(w) {
		return
	}
	var answer any
	if err == nil {
		s.mu.Lock()
		answer, err = do(c)
		s.changed()
		s.mu.Unlock()
	}
	if f.After != nil {
		f.After()
	}
	if f.Lost {
		breaks(w)
		return
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		writeJSON(w, no.status, object{"message": no.message, "code": no.code})
	case err != nil:
		writeJSON(w, 400, object{"message": err.Error(), "code": 50109})
	case answer == nil:
		w.WriteHeader(204)
	default:
		w.Header().Set("X-RateLimit-Limit", "5")
		w.Header().Set("X-RateLimit-Remaining", "4")
		if f.Spent > 0 {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset-After", fmt.Sprint(f.Spent))
		}
		writeJSON(w, 200, answer)
	}
}

// read takes a body: JSON, or a form whose files are kept.
func (s *Server) read(c *call) error {
	switch {
	case !strings.HasPrefix(c.UserAgent(), "DiscordBot ("):
		return refusal{403, 40333, "the User-Agent is not that of a bot"}
	case c.Method != "GET" && c.ContentLength < 0:
		return refusal{411, 0, "the request has no length"}
	}
	form, err := c.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		c.body, err = io.ReadAll(c.Body)
		return err
	}
	if err != nil {
		return err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.part(c, part); err != nil {
			return err
		}
	}
}

// maxKept is how much of a file is kept; more is only hashed.
const maxKept = 16 << 20 // bytes

func (s *Server) part(c *call, part *multipart.Part) error {
	if part.FormName() == "payload_json" {
		body, err := io.ReadAll(part)
		c.body = body
		return err
	}
	if part.FormName() != fmt.Sprintf("files[%d]", len(c.file)) {
		return invalid("a part is called " + part.FormName())
	}
	sum := sha256.New()
	data, err := io.ReadAll(io.TeeReader(io.LimitReader(part, maxKept), sum))
	more := int64(0)
	if err == nil {
		more, err = io.Copy(sum, part)
	}
	if err != nil {
		return err
	}
	c.file = append(c.file, File{Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Size: int64(len(data)) + more, SHA256: hex.EncodeToString(sum.Sum(nil))})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(&c.file[len(c.file)-1], c.PathValue("channel"), data)
	return nil
}

// keep puts a file on the file server.
func (s *Server) keep(f *File, channel string, data []byte) {
	f.ID = s.newID()
	path := fmt.Sprintf("/attachments/%s/%s/file", channel, f.ID)
	f.URL = s.srv.URL + path
	s.files[path] = data
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	if f := s.fault("download"); f.instead(w) {
		return
	}
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok || r.Header.Get("Authorization") != "" {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// decode reads JSON without fields that Discord does not know.
func decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return invalid(err.Error())
	}
	return nil
}

func (s *Server) application(*call) (any, error) {
	return object{"id": s.AppID, "name": "Longshore", "flags": s.Flags}, nil
}

func (s *Server) gatewayURL(*call) (any, error) {
	return object{"url": s.gatewayAddress(), "shards": 1, "session_start_limit": object{"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}}, nil
}

func (s *Server) getChannel(c *call) (any, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, unknownChannel
	}
	return r.object(), nil
}

// find is the message that a request names.
func (s *Server) find(c *call) (*room, *Message, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, nil, unknownChannel
	}
	m := r.message(c.PathValue("message"))
	if m == nil {
		return r, nil, unknownMessage
	}
	return r, m, nil
}

func (s *Server) getMessage(c *call) (any, error) {
	_, m, err := s.find(c)
	if err != nil {
		return nil, err
	}
	return s.object(m, false), nil
}

func (s *Server) getMessages(c *call) (any, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, unknownChannel
	}
	after, err := strconv.ParseInt(c.URL.Query().Get("after"), 10, 64)
	limit, errLimit := strconv.Atoi(c.URL.Query().Get("limit"))
	if err != nil || errLimit != nil || limit < 1 || limit > 100 {
		return nil, invalid("after and limit")
	}
	page := []object{}
	for _, m := range r.messages {
		if id, _ := strconv.ParseInt(m.ID, 10, 64); id > after && !m.Gone && len(page) < limit {
			page = append(page, s.object(m, false))
		}
	}
	slices.Reverse(page) // the newest comes first
	return page, nil
}

// create is Create Message.
func (s *Server) create(c *call) (any, error) {
	var in struct {
		Content string `json:"content"`
		Nonce   string `json:"nonce"`
		Enforce bool   `json:"enforce_nonce"`
		Allowed *struct {
			Parse []string `json:"parse"`
			Reply bool     `json:"replied_user"`
		} `json:"allowed_mentions"`
		Refers struct {
			ID   string `json:"message_id"`
			Fail *bool  `json:"fail_if_not_exists"`
		} `json:"message_reference"`
		Files []struct {
			ID   int    `json:"id"`
			Name string `json:"filename"`
			Alt  string `json:"description"`
		} `json:"attachments"`
	}
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	r := s.room(c.PathValue("channel"))
	switch {
	case r == nil:
		return nil, unknownChannel
	case in.Content == "" && len(c.file) == 0:
		return nil, refusal{400, 50006, "Cannot send an empty message"}
	case utf8.RuneCountInString(in.Content) > 2000 || len(in.Nonce) > 25:
		return nil, invalid("content or nonce")
	case len(c.file) > 10:
		return nil, refusal{400, 30015, "Maximum number of attachments in a message reached (10)"}
	case in.Allowed == nil || in.Allowed.Parse == nil || len(in.Allowed.Parse) > 0:
		return nil, invalid("the message may mention people")
	case len(in.Files) != len(c.file):
		return nil, invalid("attachments are not the files")
	}
	for i, f := range in.Files {
		if f.ID != i || f.Name != c.file[i].Name {
			return nil, invalid(fmt.Sprintf("attachment %d is called %q and %q", i, f.Name, c.file[i].Name))
		}
		if c.file[i].Alt = f.Alt; c.file[i].Size > []int64{10 << 20, 10 << 20, 50 << 20, 100 << 20}[s.Tier] {
			return nil, refusal{413, 40005, "Request entity too large"}
		}
	}
	if old := s.nonces[r.id+in.Nonce]; old != nil && in.Enforce && in.Nonce != "" && time.Since(s.timeOf(old)) < s.NonceFor {
		return s.object(old, true), nil
	}
	m := &Message{Channel: r.id, Author: s.BotID, Text: in.Content, Nonce: in.Nonce, Files: c.file}
	if r.message(in.Refers.ID) != nil {
		m.ReplyTo = in.Refers.ID
	} else if in.Refers.ID != "" && (in.Refers.Fail == nil || *in.Refers.Fail) {
		return nil, unknownMessage
	}
	s.nonces[r.id+in.Nonce] = s.add(r, m)
	return s.object(m, true), nil
}

func (s *Server) timeOf(m *Message) time.Time {
	id, _ := strconv.ParseInt(m.ID, 10, 64)
	return time.UnixMilli(id>>22 + 1420070400000)
}

func (s *Server) edit(c *call) (any, error) {
	var in struct {
		Content string `json:"content"`
		Allowed struct {
			Parse []string `json:"parse"`
			Reply bool     `json:"replied_user"`
		} `json:"allowed_mentions"`
	}
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	_, m, err := s.find(c)
	switch {
	case err != nil:
		return nil, err
	case m.Author != s.BotID:
		return nil, refusal{403, 50005, "Cannot edit a message authored by another user"}
	}
	if m.Text != in.Content {
		m.Text, m.Edits = in.Content, m.Edits+1
	}
	s.dispatch("MESSAGE_UPDATE", s.object(m, false))
	return s.object(m, false), nil
}

func (s *Server) remove(c *call) (any, error) {
	r, m, err := s.find(c)
	if err != nil {
		return nil, err
	}
	m.Gone = true
	s.dispatch("MESSAGE_DELETE", object{"id": m.ID, "channel_id": r.id, "guild_id": GuildID})
	return nil, nil
}

func (s *Server) react(c *call) (any, error) {
	_, m, err := s.find(c)
	if err == nil {
		s.setReaction(m, s.BotID, c.PathValue("emoji"), true)
	}
	return nil, err
}

func (s *Server) unreact(c *call) (any, error) {
	_, m, err := s.find(c)
	if err == nil {
		s.setReaction(m, s.BotID, c.PathValue("emoji"), false)
	}
	return nil, err
}

func (s *Server) typing(c *call) (any, error) {
	if s.room(c.PathValue("channel")) == nil {
		return nil, unknownChannel
	}
	return nil, nil
}

func (s *Server) member(c *call) (any, error) {
	for _, u := range append(s.users, &user{id: s.BotID}) {
		if u.id == c.PathValue("user") {
			return s.memberObject(u.id), nil
		}
	}
	return nil, refusal{404, 10007, "Unknown Member"}
}

func (s *Server) memberObject(id string) object {
	roles := []string{}
	for _, u := range s.users {
		if u.id == id {
			roles = append(roles, u.roles...)
		}
	}
	return object{"nick": nil, "roles": roles, "user": s.user(id), "joined_at": "2026-01-01T00:00:00+00:00"}
}

// object is a message as the API shows it.
func (s *Server) object(m *Message, nonce bool) object {
	at := s.timeOf(m).UTC().Format("2006-01-02T15:04:05.000000+00:00")
	files, mentions := []object{}, []object{}
	for _, f := range m.Files {
		o := object{"id": f.ID, "filename": f.Name, "size": f.Size, "content_type": f.MIME, "url": f.URL, "proxy_url": f.URL}
		files = append(files, o)
	}
	for _, id := range m.Mentions {
		mentions = append(mentions, s.user(id))
	}
	reactions := []object{}
	for emoji, users := range m.Reactions {
		reactions = append(reactions, object{"count": len(users), "me": slices.Contains(users, s.BotID), "emoji": object{"id": nil, "name": emoji}})
	}
	o := object{
		"id": m.ID, "channel_id": m.Channel, "type": 0, "content": m.Text, "author": s.user(m.Author), "timestamp": at, "edited_timestamp": nil, "tts": false,
		"mention_everyone": false, "mentions": mentions, "mention_roles": []string{}, "attachments": files, "embeds": []object{}, "pinned": false, "reactions": reactions,
	}
	if m.Edits > 0 {
		o["edited_timestamp"] = at
	}
	if nonce {
		o["nonce"] = m.Nonce
	}
	if m.ReplyTo != "" {
		o["type"], o["message_reference"] = 19, object{"message_id": m.ReplyTo, "channel_id": m.Channel}
		o["referenced_message"] = nil
		if parent := s.must(m.Channel).message(m.ReplyTo); parent != nil {
			o["referenced_message"] = s.object(&Message{ID: parent.ID, Channel: parent.Channel, Author: parent.Author, Text: parent.Text, Files: parent.Files}, false)
		}
	}
	return o
}

// add shows a message to all.
func (s *Server) add(r *room, m *Message) *Message {
	m.ID = s.messageID()
	r.messages = append(r.messages, m)
	o := s.object(m, true)
	if r.kind != typeDirect {
		o["guild_id"], o["member"] = GuildID, s.memberObject(m.Author)
	}
	s.dispatch("MESSAGE_CREATE", o)
	s.changed()
	return m
}
