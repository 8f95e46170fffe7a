package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/ipc"
)

// upload is what the state knows of an upload, by a hash over its conversation and id, its name.
// Its bytes are uploads/<name>.part until a delivery has them: then a repeated call may still
// name the upload.
type upload struct {
	Folder string
	Length int64
	SHA256 string // in lower-case hex
	Whole  bool   // all bytes have come, and are what was said
	Sent   bool   // a delivery has them: they are no longer kept
}

// uploads are the files that come in pieces. The zero uploads has no writer.
type uploads struct {
	mu      sync.Mutex
	writers map[string]bool // by name
}

func (s *Server) uploadDir() string { return filepath.Join(s.Dir, "uploads") }

// uploadName is how an upload's bytes are called: no character of the id is in it.
func uploadName(who tokens.Identity, id string) string {
	h := sha256.Sum256([]byte(who.Folder + "\x00" + who.Thread + "\x00" + id))
	return hex.EncodeToString(h[:])
}

func (s *Server) partOf(name string) string { return filepath.Join(s.uploadDir(), name+".part") }

// upload returns an upload and how many of its bytes are there.
func (s *Server) upload(name string) (u upload, offset int64, err error) {
	err = s.State.QueryRow(`SELECT folder, length, sha256, whole, sent FROM remote_upload WHERE name = ?`, name).Scan(&u.Folder, &u.Length, &u.SHA256, &u.Whole, &u.Sent)
	if errors.Is(err, sql.ErrNoRows) {
		return u, 0, errNoUpload
	}
	if err != nil || u.Whole {
		return u, u.Length, store.Words(err)
	}
	info, err := os.Stat(s.partOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return u, 0, nil
	}
	if err != nil {
		return u, 0, err
	}
	return u, info.Size(), nil
}

// deleteUpload deletes an upload, its bytes first: a killed host leaves none of no upload.
func (s *Server) deleteUpload(name string) error {
	if err := remove(s.partOf(name)); err != nil {
		return err
	}
	_, err := s.State.Exec(context.Background(), `DELETE FROM remote_upload WHERE name = ?`, name)
	return store.Words(err)
}

// askUpload answers how far an upload is.
func (s *Server) askUpload(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	name, err := uploadOf(r, who)
	if err != nil {
		return err
	}
	u, offset, err := s.upload(name)
	if err != nil {
		return err
	}
	sayUpload(rw, u, offset)
	rw.WriteHeader(http.StatusOK)
	return nil
}

// uploadOf returns the name of the upload that a request names.
func uploadOf(r *http.Request, who tokens.Identity) (string, error) {
	if id := r.PathValue("id"); ipc.ValidID(id) {
		return uploadName(who, id), nil
	}
	return "", httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, "the upload's id is no id", "use letters, digits, dot, hyphen and underscore, at most 200")
}

// takePiece takes a piece of an upload.
func (s *Server) takePiece(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	name, err := uploadOf(r, who)
	if err != nil {
		return err
	}
	if !s.uploads.begin(name) {
		return httpd.Refuse(http.StatusConflict, "upload_busy", "this upload is being written", "wait for the other writer, then ask with HEAD how far it is")
	}
	defer s.uploads.end(name)
	place := s.bodies.Begin(who.Folder) // before the upload is kept: one that is refused has no place
	if place == nil {
		return errBusy
	}
	u, offset, err := s.beginUpload(r, who, name)
	if err == nil && !u.Whole {
		offset, err = s.append(s.Limits.Body(rw, r, u.Length-offset+1), place, name, u, offset)
	}
	place.End()
	if err == nil && !u.Whole && offset == u.Length {
		u.Whole = true
		err = s.finish(name, u)
	}
	if err != nil {
		return err
	}
	sayUpload(rw, u, offset)
	httpd.Answer(rw, http.StatusOK, map[string]any{"id": r.PathValue("id"), "offset": offset, "length": u.Length, "whole": u.Whole})
	return nil
}

func sayUpload(rw http.ResponseWriter, u upload, offset int64) {
	rw.Header().Set("Upload-Length", strconv.FormatInt(u.Length, 10))
	rw.Header().Set("Upload-Offset", strconv.FormatInt(offset, 10))
}

func (u *uploads) begin(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writers[name] {
		return false
	}
	if u.writers == nil {
		u.writers = map[string]bool{}
	}
	u.writers[name] = true
	return true
}

func (u *uploads) end(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.writers, name)
}

// beginUpload finds the upload that a PUT goes on with, or keeps a new one.
func (s *Server) beginUpload(r *http.Request, who tokens.Identity, name string) (upload, int64, error) {
	at, err := headerNumber(r, "Upload-Offset", 0)
	if err != nil {
		return upload{}, 0, err
	}
	u, offset, err := s.upload(name)
	if errors.Is(err, errNoUpload) && at == 0 {
		if err = remove(s.partOf(name)); err == nil { // of one that is no more
			u, err = s.newUpload(r, who, name)
		}
	} else if err == nil {
		err = u.agrees(r)
	}
	if (err == nil || errors.Is(err, errNoUpload)) && at != offset {
		err = httpd.Refuse(http.StatusConflict, "wrong_offset", fmt.Sprintf("the upload has %d bytes, not %d", offset, at), "ask with HEAD how far it is, and go on there")
	}
	return u, offset, err
}

// newUpload checks what an upload says of itself, and that the group may begin one, and
// keeps it.
func (s *Server) newUpload(r *http.Request, who tokens.Identity, name string) (upload, error) {
	length, err := headerNumber(r, "Upload-Length", -1)
	if err != nil {
		return upload{}, err
	}
	sum, err := hex.DecodeString(r.Header.Get("Upload-SHA256"))
	if err != nil || len(sum) != sha256.Size || length < 0 {
		return upload{}, httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the upload does not say its length and hash", "send Upload-Length, and Upload-SHA256 in hex")
	}
	u := upload{Folder: who.Folder, Length: length, SHA256: hex.EncodeToString(sum)}
	return u, s.keepUpload(r.Context(), name, u)
}

// agrees refuses a length or a hash that is not the one said at the start.
func (u upload) agrees(r *http.Request) error {
	length, err := headerNumber(r, "Upload-Length", u.Length)
	if err != nil {
		return err
	}
	if sum := r.Header.Get("Upload-SHA256"); length != u.Length || sum != "" && !strings.EqualFold(sum, u.SHA256) {
		return httpd.Refuse(http.StatusConflict, "other_upload", "this id was begun with another length or hash", "use another id for another file")
	}
	return nil
}

func headerNumber(r *http.Request, name string, without int64) (int64, error) {
	text := r.Header.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, name+" is no number", "write the bytes in digits")
	}
	return n, nil
}

// stopped returns the uploads whose last byte came before then, the one of the longest time ago
// first, from rows with their names and when they last changed without a byte.
func (s *Server) stopped(then time.Time, rows *sql.Rows, err error) (names []string, _ error) {
	at := map[string]time.Time{}
	err = state.Each(rows, err, func() error {
		var name string
		var changed int64
		if err := rows.Scan(&name, &changed); err != nil {
			return err
		}
		last := time.Unix(0, changed)
		if info, err := os.Stat(s.partOf(name)); err == nil {
			last = info.ModTime()
		}
		if last.Before(then) {
			at[name] = last
		}
		return nil
	})
	names = slices.SortedFunc(maps.Keys(at), func(a, b string) int { return at[a].Compare(at[b]) })
	return names, err
}

// append writes what comes behind the bytes that are there. What has come of a body that
// breaks off stays.
func (s *Server) append(from io.Reader, place *intake.Body, name string, u upload, offset int64) (int64, error) {
	f, err := os.OpenFile(s.partOf(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return offset, err
	}
	n, err := io.Copy(io.MultiWriter(place, f), io.LimitReader(from, u.Length-offset))
	refused := errors.Is(err, intake.ErrQuota) || errors.Is(err, intake.ErrNoRoom)
	if err != nil {
		err = tooLarge(err, s.Live.Quota())
	} else if more, _ := from.Read(make([]byte, 1)); more > 0 {
		err, refused = malformed("more bytes came than Upload-Length says"), true
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if refused {
		err = errors.Join(err, s.standAside(name, offset+n))
	}
	return offset + n, err
}

// standAside has an upload that was refused give way to the next new one, although it has
// just had a byte; one without bytes is deleted at once.
func (s *Server) standAside(name string, bytes int64) error {
	if bytes == 0 {
		return s.deleteUpload(name)
	}
	idle := time.Now().Add(-uploadIdle - time.Second)
	return os.Chtimes(s.partOf(name), idle, idle)
}

// finish checks a whole upload. One that is not what was said is deleted.
func (s *Server) finish(name string, u upload) error {
	f, err := os.OpenFile(s.partOf(name), os.O_RDONLY|os.O_CREATE, 0o600) // one of no bytes
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum, _ := hex.DecodeString(u.SHA256); !bytes.Equal(h.Sum(nil), sum) {
		if err := s.deleteUpload(name); err != nil {
			return err
		}
		return httpd.Refuse(http.StatusUnprocessableEntity, "wrong_sha256", "the bytes are not those that were announced; the upload is deleted", "begin it again")
	}
	_, err = s.State.Exec(context.Background(), `UPDATE remote_upload SET whole = 1, changed = ? WHERE name = ?`, time.Now().UnixNano(), name)
	return store.Words(err)
}

// useUpload opens a whole upload as the file of a call. One that was sent has no bytes: its hash
// still says whether a repeated call is the same.
func (s *Server) useUpload(who tokens.Identity, id string, c *mediaCall) error {
	name := uploadName(who, id)
	u, offset, err := s.upload(name)
	switch {
	case err != nil:
		return err
	case !u.Whole:
		return httpd.Refuse(http.StatusConflict, "not_whole", fmt.Sprintf("the upload has %d of %d bytes", offset, u.Length), "go on with PUT where HEAD says")
	}
	c.sum = sha256.New()
	c.sum.Write([]byte("upload " + u.SHA256))
	c.upload, c.hash = name, u.SHA256
	c.gone = errUploadSent
	if !u.Sent {
		f, err := os.Open(s.partOf(name))
		if err == nil {
			c.file, c.gone = f, nil
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.gone = errUploadLost // they came to another machine, or the state was restored
	}
	c.file = io.NewSectionReader(strings.NewReader(""), 0, 0)
	return nil
}

// releaseUploads deletes the bytes of uploads that a delivery has.
func (s *Server) releaseUploads(who tokens.Identity, delivery string, all ...*mediaCall) {
	for _, c := range all {
		if err := s.releaseUpload(c); err != nil {
			s.Log.Warn("bytes of an upload not removed", "group", who.Folder, "request", delivery, "error", err)
		}
	}
}

// releaseUpload deletes the bytes of an upload. It leaves an upload that the assistant has begun under the same id since.
func (s *Server) releaseUpload(c *mediaCall) error {
	if !s.uploads.begin(c.upload) {
		return nil
	}
	defer s.uploads.end(c.upload)
	u, _, err := s.upload(c.upload)
	if errors.Is(err, errNoUpload) || err == nil && (u.Sent || !u.Whole || u.SHA256 != c.hash) {
		return nil
	}
	if err == nil {
		_, err = s.State.Exec(context.Background(), `UPDATE remote_upload SET sent = 1, changed = ? WHERE name = ?`, time.Now().UnixNano(), c.upload)
	}
	if err != nil {
		return store.Words(err)
	}
	return remove(s.partOf(c.upload))
}

// remove deletes a file, which may be gone.
func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// expireUploads deletes uploads whose last byte came too long ago.
func (s *Server) expireUploads() error {
	rows, err := s.State.Query(`SELECT name, changed FROM remote_upload`)
	names, err := s.stopped(time.Now().Add(-s.Limits.UploadFor), rows, err)
	for _, name := range names {
		if s.uploads.begin(name) {
			err = errors.Join(err, s.deleteUpload(name))
			s.uploads.end(name)
		}
	}
	return store.Words(err)
}
