package slacktest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
)

var errLength = errors.New("the bytes are not as many as were announced")

// upload is the second step: the address is the permission.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	fault := s.Take("upload")
	if fault.Unread {
		breaks(w)
		return
	}
	s.mu.Lock()
	f, ok := s.files[r.PathValue("id")]
	ok = ok && f.state <= uploaded
	s.mu.Unlock()
	if !ok {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	body, err := content(r, f.Size)
	if err == nil {
		err = s.store(f, body)
	}
	if fault.instead(w) {
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.arrived(f, fault.Cut)
	if fault.After != nil {
		fault.After()
	}
	if fault.Lost {
		breaks(w)
		return
	}
	fmt.Fprintf(w, "OK - %d", f.Size)
}

// content is the one file of a request.
func content(r *http.Request, size int64) (io.Reader, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		if r.ContentLength != size {
			return nil, errLength
		}
		return r.Body, nil
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, errors.New("no file in the form")
		}
		if part.FileName() != "" {
			return part, nil
		}
	}
}

// store keeps the bytes of a file, which must be as many as were announced.
func (s *Server) store(f *file, body io.Reader) error {
	out, err := os.CreateTemp(s.dir, "part-")
	if err != nil {
		return err
	}
	defer out.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(body, f.Size+1))
	if err != nil {
		return err
	}
	if n != f.Size {
		return errLength
	}
	if err := os.Rename(out.Name(), f.path); err != nil {
		return err
	}
	f.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return nil
}

func (s *Server) arrived(f *file, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.state = uploaded
	if cut {
		f.Size /= 2
		if err := os.Truncate(f.path, f.Size); err != nil {
			panic("slacktest: " + err.Error())
		}
	}
	s.Changed()
}

// download gives the bytes to whoever has the token; Slack sends others to its
// sign-in page, with 200 and HTML.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	fault := s.Take("download")
	if fault.Unread {
		breaks(w)
		return
	}
	if fault.instead(w) {
		return
	}
	s.mu.Lock()
	f, ok := s.files[r.PathValue("id")]
	ok = ok && f.state == shared
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token != s.BotToken {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!DOCTYPE html><title>Sign in</title>")
		return
	}
	if fault.Lost {
		w.Header().Set("Content-Length", fmt.Sprint(f.Size))
		_, _ = io.WriteString(w, "half of it")
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", f.MIME)
	http.ServeFile(w, r, f.path)
}
