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
	"strings"
	"time"
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
		"GET /applications/{app}/commands":                                    {"commands", s.getCommands},
		"POST /applications/{app}/commands":                                   {"register", s.register},
		"POST /interactions/{interaction}/{token}/callback":                   {"callback", s.callback},
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v10"+path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r.kind, r.do) })
	}
	gateway := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
		s.socket(w, r)
	}
	mux.HandleFunc("GET /gateway", gateway)
	mux.HandleFunc("GET /gateway/", gateway)
	mux.HandleFunc("GET /attachments/{channel}/{file}/{name}", s.download)
	mux.HandleFunc("GET /stickers/{name}", s.download)
	return mux
}

// serve reads a request whole, and does what it asks for.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, kind string, do func(*call) (any, error)) {
	f := s.Take(kind)
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if f.Unread {
		breaks(w)
		return
	}
	if kind != "callback" && r.Header.Get("Authorization") != "Bot "+s.Token { // an interaction has a token of its own
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
		s.Changed()
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
	opus := bytes.HasPrefix(data, []byte("OggS")) && bytes.Contains(data[:min(len(data), 64)], []byte("OpusHead"))
	c.file = append(c.file, File{Opus: opus, Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Size: int64(len(data)) + more, SHA256: hex.EncodeToString(sum.Sum(nil))})
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
	if f := s.Take("download"); f.instead(w) {
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
	left := 999
	if s.NoSessions {
		left = 0
	}
	return object{"url": s.gatewayAddress(), "shards": 1, "session_start_limit": object{"total": 1000, "remaining": left, "reset_after": 1, "max_concurrency": 1}}, nil
}
