// Package telegramtest is a Bot API server on loopback, for tests. It reads every
// request strictly: a parameter that Telegram does not document is an error.
package telegramtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is the bot's.
const Token = "123456789:test-token-of-nobody"

// Bot is the bot's number and name.
const (
	Bot     = 123456789
	BotName = "harbour_bot"
)

// File is a file of the bot's, as a member gets it.
type File struct {
	Name, SHA256 string
	Size         int64
}

// Message is one of the bot's, as members see it.
type Message struct {
	ID, Thread, ReplyTo int64
	Method, Text        string
	File                *File
	Edits               int
	Reaction            string
	Gone                bool
}

// Fault is what goes wrong with one call of a method.
type Fault struct {
	Before func() // called when the request's head has come; its body is not read
	Status int    // answered instead, without doing anything
	Body   string // of that answer, JSON
	Lost   bool   // the method is carried out, and the connection closed without an answer
}

// Server is the server. Its fields are set before it is used.
type Server struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	changed chan struct{}
	last    int64
	chats   map[int64][]*Message
	updates []map[string]any
	files   map[string][]byte
	faults  map[string][]Fault
	ended   chan struct{}
}

// New starts a server with these chats.
func New(t testing.TB, chats ...int64) *Server {
	s := &Server{t: t, changed: make(chan struct{}), last: 100, chats: map[int64][]*Message{}, files: map[string][]byte{}, faults: map[string][]Fault{}, ended: make(chan struct{})}
	for _, id := range chats {
		s.chats[id] = nil
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.ended)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Next lets the next calls of a method fail.
func (s *Server) Next(method string, all ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], all...)
}

// Forget forgets all files of members.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.files)
}

// Tell gives the bot an update, and returns the number of the message that it holds.
func (s *Server) Tell(kind string, chat int64, of map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if of["message_id"] == nil {
		of["message_id"] = s.last
	}
	of["chat"], of["date"] = map[string]any{"id": chat, "type": "supergroup"}, time.Now().Unix()
	s.updates = append(s.updates, map[string]any{"update_id": s.last, kind: of})
	s.wake()
	return s.last
}

// Keep keeps a member's file and returns its file_id.
func (s *Server) Keep(content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	id := fmt.Sprintf("file-%d", s.last)
	s.files[id] = content
	return id
}

// WaitFor waits until a chat has n messages of the bot, and returns all.
func (s *Server) WaitFor(t testing.TB, chat int64, n int) []Message {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		var all []Message
		for _, m := range s.chats[chat] {
			all = append(all, *m)
		}
		changed := s.changed
		s.mu.Unlock()
		if len(all) >= n {
			return all
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("chat %d has %d messages, want %d", chat, len(all), n)
		}
	}
}

// wake is called with the lock held.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) serve(rw http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+Token+"/"); ok {
		s.mu.Lock()
		content, there := s.files[strings.TrimPrefix(name, "documents/")]
		s.mu.Unlock()
		if !there {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = rw.Write(content)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+Token+"/")
	if !ok {
		fail(rw, 401, "Unauthorized")
		return
	}
	fault := s.fault(method)
	if fault.Before != nil {
		fault.Before()
	}
	if fault.Status != 0 {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(fault.Status)
		_, _ = io.WriteString(rw, fault.Body)
		return
	}
	args, file, err := read(r, method)
	if err != nil {
		fail(rw, 400, "Bad Request: "+err.Error())
		return
	}
	if method == "getUpdates" {
		s.poll(rw, r, args)
		return
	}
	result, refusal := s.do(method, args, file)
	switch {
	case fault.Lost:
		panic(http.ErrAbortHandler)
	case refusal != "":
		fail(rw, 400, "Bad Request: "+refusal)
	default:
		answer(rw, result)
	}
}

func (s *Server) fault(method string) (f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.faults[method]; len(all) > 0 {
		f, s.faults[method] = all[0], all[1:]
	}
	return f
}

func answer(rw http.ResponseWriter, result any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{"ok": true, "result": result})
}

func fail(rw http.ResponseWriter, code int, why string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(map[string]any{"ok": false, "error_code": code, "description": why})
}

// poll holds a poll open until there is something to say.
func (s *Server) poll(rw http.ResponseWriter, r *http.Request, args map[string]any) {
	late := time.After(50 * time.Second)
	for {
		s.mu.Lock()
		s.updates = slices.DeleteFunc(s.updates, func(u map[string]any) bool { return u["update_id"].(int64) < num(args["offset"]) })
		all, changed := slices.Clone(s.updates), s.changed
		s.mu.Unlock()
		if len(all) > 0 {
			answer(rw, all)
			return
		}
		select {
		case <-changed:
		case <-late:
			answer(rw, []any{})
			return
		case <-s.ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func num(v any) int64 {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// documented are the parameters of each method that the channel may use.
var documented = map[string]string{
	"getMe": "", "getUpdates": "offset timeout allowed_updates limit", "setMyCommands": "commands", "getFile": "file_id",
	"getChatMember": "chat_id user_id", "sendChatAction": "chat_id message_thread_id action",
	"sendMessage":  "chat_id message_thread_id text entities reply_parameters link_preview_options",
	"sendDocument": sending + "document disable_content_type_detection", "sendPhoto": sending + "photo", "sendVideo": sending + "video supports_streaming",
	"sendAnimation": sending + "animation", "sendAudio": sending + "audio", "sendVoice": sending + "voice", "sendSticker": "chat_id message_thread_id reply_parameters sticker",
	"editMessageText": "chat_id message_id text entities link_preview_options", "editMessageCaption": "chat_id message_id caption",
	"deleteMessage": "chat_id message_id", "setMessageReaction": "chat_id message_id reaction",
}

const sending = "chat_id message_thread_id caption reply_parameters "

// read reads a request, whole.
func read(r *http.Request, method string) (map[string]any, *File, error) {
	names, known := documented[method]
	if !known {
		return nil, nil, fmt.Errorf("no method %s", method)
	}
	args := map[string]any{}
	var file *File
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		form, err := r.MultipartReader()
		if err != nil {
			return nil, nil, err
		}
		for {
			part, err := form.NextPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, nil, err
			}
			_, named, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			if err != nil {
				return nil, nil, err
			}
			if name, ok := named["filename"]; ok {
				sum := sha256.New()
				n, err := io.Copy(sum, part)
				if err != nil {
					return nil, nil, err
				}
				file = &File{name, hex.EncodeToString(sum.Sum(nil)), n}
				continue
			}
			content, err := io.ReadAll(part)
			if err != nil {
				return nil, nil, err
			}
			args[part.FormName()] = string(content)
		}
	} else {
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			return nil, nil, err
		}
	}
	for name := range args {
		if !slices.Contains(strings.Fields(names), name) {
			return nil, nil, fmt.Errorf("%s has no parameter %s", method, name)
		}
	}
	return args, file, nil
}

// do carries a method out.
func (s *Server) do(method string, args map[string]any, file *File) (result any, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wake()
	chat := num(args["chat_id"])
	_, there := s.chats[chat]
	switch {
	case method == "getMe":
		return map[string]any{"id": Bot, "is_bot": true, "first_name": "Harbour", "username": BotName, "can_read_all_group_messages": true}, ""
	case method == "setMyCommands":
		return true, ""
	case method == "getFile":
		id := str(args["file_id"])
		if s.files[id] == nil {
			return nil, "wrong file_id or the file is temporarily unavailable"
		}
		return map[string]any{"file_id": id, "file_path": "documents/" + id}, ""
	case !there:
		return nil, "chat not found"
	case method == "getChatMember":
		return map[string]any{"status": "member"}, ""
	case method == "sendChatAction":
		return true, ""
	case strings.HasPrefix(method, "send"):
		return s.sent(chat, method, args, file)
	}
	i := slices.IndexFunc(s.chats[chat], func(m *Message) bool { return m.ID == num(args["message_id"]) && !m.Gone })
	if i < 0 {
		return nil, map[string]string{"deleteMessage": "message to delete not found", "setMessageReaction": "message to react not found"}[method] + map[bool]string{true: "message to edit not found"}[strings.HasPrefix(method, "edit")]
	}
	return s.change(s.chats[chat][i], method, args)
}

// change is called with the lock held.
func (s *Server) change(m *Message, method string, args map[string]any) (any, string) {
	switch method {
	case "deleteMessage":
		m.Gone = true
	case "setMessageReaction":
		m.Reaction = ""
		all, _ := args["reaction"].([]any)
		for _, one := range all {
			m.Reaction += str(one.(map[string]any)["emoji"])
		}
	default:
		text := str(args["text"]) + str(args["caption"])
		if text == m.Text {
			return nil, "message is not modified"
		}
		m.Text = text
		m.Edits++
	}
	return true, ""
}

// sent is called with the lock held.
func (s *Server) sent(chat int64, method string, args map[string]any, file *File) (any, string) {
	s.last++
	m := &Message{ID: s.last, Thread: num(args["message_thread_id"]), Method: method, Text: str(args["text"]) + str(args["caption"]), File: file}
	var to struct {
		ID int64 `json:"message_id"`
	}
	switch v := args["reply_parameters"].(type) {
	case string:
		_ = json.Unmarshal([]byte(v), &to)
	case map[string]any:
		to.ID = num(v["message_id"])
	}
	m.ReplyTo = to.ID
	if file == nil && (method != "sendMessage" || m.Text == "") {
		return nil, "message text is empty"
	}
	s.chats[chat] = append(s.chats[chat], m)
	return map[string]any{"message_id": m.ID, "date": time.Now().Unix(), "chat": map[string]any{"id": chat, "type": "supergroup"}}, ""
}
