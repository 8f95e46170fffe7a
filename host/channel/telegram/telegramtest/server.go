// Package telegramtest is a Bot API server on loopback, for tests. It reads every
// request strictly: a parameter that Telegram does not document is an error.
package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

// Token is the bot's.
const Token = "123456789:test-token-of-nobody"

// Bot is the bot's number and name.
const (
	Bot     = 123456789
	BotName = "harbour_bot"
)

// Entity is the format of a part of a text, in UTF-16 units.
type Entity = entity

// Message is one of the bot's, as members see it.
type Message struct {
	ID, Thread, ReplyTo int64
	IDs                 []int64 // of an album: each file is a message
	Method, Text        string
	Entities            []Entity
	Files               []File
	Kinds               []string // of the files: document, photo, ...
	Choices             []string // of a poll
	Several, Closed     bool     // of a poll
	Edits               int
	Reaction            string
	Gone                bool
}

// Fault is what goes wrong with one call of a method.
type Fault struct {
	Before func() // called when the request's head has come; its body is not read
	After  func() // called when the method was carried out, before it is answered
	Torn   bool   // the connection is closed after some of the body was read
	Status int    // answered instead, without doing anything
	Body   string // of that answer, JSON
	Lost   bool   // the method is carried out, and the connection closed without an answer
}

// Server is the server. Its fields are set before it is used.
type Server struct {
	*httptest.Server
	channeltest.Faults[Fault] // by methods

	Privacy   bool           // the bot hears only what speaks to it
	Webhook   string         // the address of another program that has the updates
	Member    map[string]any // the bot's own place in all chats, as ChatMember
	Rights    map[string]any // what members may do in all chats, as ChatPermissions
	MaxUpload int64          // bytes of a file

	HideMembers bool // the bot is not an admin of chats that hide their members

	t testing.TB

	mu      sync.Mutex
	last    int64
	chats   map[int64][]*Message
	updates []map[string]any
	files   map[string][]byte
	sentIDs map[string]sentFile
	ended   chan struct{}
	secret  string         // of the webhook
	outside map[int64]bool // users who are in no chat
	held    time.Duration
}

// New starts a server with these chats.
func New(t testing.TB, chats ...int64) *Server {
	s := &Server{t: t, Member: map[string]any{"status": "member"}, Rights: map[string]any{"can_send_messages": true}, MaxUpload: 50 << 20,
		last: 100, chats: map[int64][]*Message{}, files: map[string][]byte{}, sentIDs: map[string]sentFile{},
		ended: make(chan struct{}), outside: map[int64]bool{}}
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

// Hook is the webhook that the bot has set, and its secret.
func (s *Server) Hook() (url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Webhook, s.secret
}

// Forget forgets all files of members, and those that the bot has sent.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.files)
	clear(s.sentIDs)
}

// Tell gives the bot an update, and returns the number of the message that it holds.
func (s *Server) Tell(kind string, chat int64, of map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if of["message_id"] == nil && kind != "my_chat_member" {
		of["message_id"] = s.last
	}
	of["chat"], of["date"] = map[string]any{"id": chat, "type": "supergroup", "title": "Chat " + fmt.Sprint(-chat)}, time.Now().Unix()
	s.update(kind, of)
	return s.last
}

// Dispatch gives the bot any update, as a JSON object. It sets update_id.
func (s *Server) Dispatch(update string) {
	s.t.Helper()
	var of map[string]any
	d := json.NewDecoder(strings.NewReader(update))
	d.UseNumber()
	if err := d.Decode(&of); err != nil {
		s.t.Fatalf("%v in the update %s", err, update)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	of["update_id"] = s.last
	s.updates = append(s.updates, of)
	s.Changed()
}

// Vote gives the bot an answer to a poll.
func (s *Server) Vote(message int64, user map[string]any, options ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.update("poll_answer", map[string]any{"poll_id": fmt.Sprint("poll-", message), "user": user, "option_ids": append([]int{}, options...)})
}

// Outside has a user be in no chat.
func (s *Server) Outside(user int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outside[user] = true
}

// update is called with the lock held.
func (s *Server) update(kind string, of map[string]any) {
	s.updates = append(s.updates, map[string]any{"update_id": s.last, kind: of})
	s.Changed()
}

// Keep keeps a member's file and returns its file_id.
func (s *Server) Keep(content []byte) string {
	s.mu.Lock()
	s.last++
	id := fmt.Sprintf("file-%d", s.last)
	s.mu.Unlock()
	s.KeepAs(id, content)
	return id
}

// KeepAs is Keep with a file_id.
func (s *Server) KeepAs(id string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[id] = content
}

// WaitFor waits until a chat has n messages of the bot, and returns all.
func (s *Server) WaitFor(t testing.TB, chat int64, n int) (all []Message) {
	t.Helper()
	s.Wait(t, fmt.Sprintf("%d messages in chat %d", n, chat), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all = nil
		for _, m := range s.chats[chat] {
			all = append(all, *m)
		}
		return len(all) >= n
	})
	return all
}

func (s *Server) serve(rw http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+Token+"/"); ok {
		s.download(rw, name)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+Token+"/")
	if !ok {
		fail(rw, 401, "Unauthorized")
		return
	}
	fault := s.Take(method)
	if fault.Before != nil {
		fault.Before()
	}
	if fault.Torn {
		_, _ = io.CopyN(io.Discard, r.Body, 16<<10)
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(fault.Status)
		_, _ = io.WriteString(rw, fault.Body)
		return
	}
	req, err := s.read(r, method)
	if errors.Is(err, errTooLarge) {
		fail(rw, 413, err.Error())
		return
	}
	if err != nil {
		fail(rw, 400, "Bad Request: "+err.Error())
		return
	}
	if method == "getUpdates" {
		s.poll(rw, r, req)
		return
	}
	result, refusal := s.do(method, req)
	if fault.After != nil {
		fault.After()
	}
	switch {
	case fault.Lost:
		panic(http.ErrAbortHandler)
	case refusal != "":
		fail(rw, 400, "Bad Request: "+refusal)
	default:
		answer(rw, result)
	}
}

func (s *Server) download(rw http.ResponseWriter, name string) {
	s.mu.Lock()
	content, there := s.files[strings.TrimPrefix(name, "documents/")]
	s.mu.Unlock()
	if !there {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = rw.Write(content)
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
// Held is the longest time for which a client wanted a poll to be held.
func (s *Server) Held() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *Server) poll(rw http.ResponseWriter, r *http.Request, req *request) {
	if url, _ := s.Hook(); url != "" {
		fail(rw, 409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
		return
	}
	wait := 50 * time.Second
	if req.Timeout > 0 {
		wait = min(wait, time.Duration(req.Timeout)*time.Second)
	}
	late := time.After(wait)
	s.mu.Lock()
	s.held = max(s.held, wait)
	s.mu.Unlock()
	for {
		changed := s.News()
		s.mu.Lock()
		s.updates = slices.DeleteFunc(s.updates, func(u map[string]any) bool { return u["update_id"].(int64) < req.Offset })
		all := slices.Clone(s.updates)
		s.mu.Unlock()
		if req.Limit > 0 && len(all) > req.Limit {
			all = all[:req.Limit]
		}
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
