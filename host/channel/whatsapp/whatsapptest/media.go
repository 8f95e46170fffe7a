package whatsapptest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// Files travel over HTTP, encrypted by the sender. A client first asks for a
// media connection: hosts, and a token that proves it may upload. Then it
// posts the ciphertext to /mms/<kind>/<hash>, the hash being that of the
// ciphertext, and is told where it can be fetched. No key comes here.
const (
	mediaPath = "/v/"
	mediaHost = "mmg.whatsapp.net"
)

// file is one upload.
type file struct {
	disk    string // its name in the server's directory; "" where only hashed
	size    int64
	expired bool
}

// mediaConn makes a new token. The caller holds the lock.
func (s *Server) mediaConn() wire.Node {
	auth := rand.Text()
	s.auths[auth] = true
	return wire.Parent("media_conn", wire.Attrs{
		"auth": auth, "ttl": "21600", "auth_ttl": "21600", "max_buckets": "12",
	}, wire.Parent("host", wire.Attrs{"hostname": mediaHost}), wire.Parent("host", wire.Attrs{"hostname": "fallback." + mediaHost}))
}

func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.wg.Done()
	up := Upload{Kind: r.PathValue("kind"), Status: http.StatusOK}
	act := s.take(occasion{on: OnUpload, kind: up.Kind})
	body := &faultyBody{from: r.Body, act: act, ctx: s.ctx}
	want, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(r.PathValue("token"), "=")) // clients pad it or do not
	if err != nil || len(want) != sha256.Size {
		up.Status = http.StatusBadRequest
	} else if !s.authorized(r.URL.Query().Get("auth")) {
		up.Status = http.StatusUnauthorized
	} else if act != nil && act.fault.Do == Refuse {
		up.Status = act.fault.Code
		if act.fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", wire.Number(int(act.fault.RetryAfter.Seconds())))
		}
	}
	name := hex.EncodeToString(want)
	if up.Status != http.StatusOK {
		// Read it all: a client that is cut off while it writes sees no status.
		up.Size, _ = io.Copy(io.Discard, body)
	} else if up.Size, err = s.keep(name, body); err != nil {
		s.log.Info("upload ended", "error", err)
		up.Status = http.StatusBadRequest
	}
	up.EncSHA256 = name
	if body.cut {
		up.Status = 0
	}
	s.mu.Lock()
	s.uploads = append(s.uploads, up)
	s.happened()
	s.mu.Unlock()
	if body.cut || act != nil && (act.fault.Do == CutAfter || act.fault.Do == LoseAck) {
		panic(http.ErrAbortHandler)
	}
	if up.Status != http.StatusOK {
		http.Error(w, http.StatusText(up.Status), up.Status)
		return
	}
	path := directPath(name)
	_ = json.NewEncoder(w).Encode(map[string]string{"url": "https://" + mediaHost + path, "direct_path": path})
}

func (s *Server) authorized(auth string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.auths[auth]
}

// keep streams an upload to disk, or only through the hash, and checks it.
func (s *Server) keep(name string, body io.Reader) (int64, error) {
	s.mu.Lock()
	part := "upload-" + s.nextID()
	s.mu.Unlock()
	sum, stored := sha256.New(), &file{disk: part}
	var to io.Writer = sum
	if s.opts.DiscardMedia {
		stored.disk = ""
	} else {
		out, err := s.dir.Create(part)
		if err != nil {
			return 0, err
		}
		defer out.Close()
		to = io.MultiWriter(sum, out)
	}
	size, err := io.Copy(to, body)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != name {
		err = fmt.Errorf("%d bytes do not have the hash in the address", size)
	}
	if err != nil {
		if stored.disk != "" {
			_ = s.dir.Remove(part)
		}
		return size, err
	}
	stored.size = size
	s.mu.Lock()
	s.files[name] = stored
	s.mu.Unlock()
	return size, nil
}

func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.wg.Done()
	act := s.take(occasion{on: OnDownload, kind: r.URL.Query().Get("mms-type")})
	if act != nil && act.fault.Do == Refuse {
		http.Error(w, http.StatusText(act.fault.Code), act.fault.Code)
		return
	}
	s.mu.Lock()
	f := s.files[r.PathValue("name")]
	gone := f != nil && (f.expired || f.disk == "")
	s.mu.Unlock()
	if f == nil {
		http.NotFound(w, r)
		return
	}
	if gone {
		http.Error(w, "expired", http.StatusGone)
		return
	}
	in, err := s.dir.Open(f.disk)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer in.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(f.size))
	body := &faultyBody{from: in, act: act, ctx: s.ctx}
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// renew gives a file that has expired a new path. The caller holds the lock.
func (s *Server) renew(name string) string {
	if s.renewAt != "" {
		return s.renewAt
	}
	old := s.files[name]
	if old == nil {
		return directPath(name)
	}
	again := strings.SplitN(name, "-", 2)[0] + "-" + s.nextID()
	s.files[again] = &file{disk: old.disk, size: old.size}
	return directPath(again)
}

// directPath must hold a question mark: clients append their own parameters.
func directPath(name string) string { return mediaPath + name + "?ccb=1" }
