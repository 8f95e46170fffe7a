package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// uploadPrefix begins the path of an upload in a request.
const uploadPrefix = "upload:"

// takeRequest lets a request of the queue's form in, and answers with its delivery. What it
// names may be uploads, which are its own from then on.
func (s *Server) takeRequest(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	wait, err := s.waitOf(r, 0)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(s.Limits.Body(rw, r, ipc.MaxRequest))
	if err != nil {
		return tooLarge(err, ipc.MaxRequest)
	}
	request, err := ipc.Decode(body)
	if err != nil {
		return err
	}
	key, err := keyOf(r, nil)
	if err != nil {
		return err
	}
	result, err := s.order(r.Context(), who, key, request, nil)
	if err != nil {
		return err
	}
	result = s.await(r.Context(), who.Folder, result, wait, time.Time{})
	s.unstage(who, result)
	answer(rw, result)
	return nil
}

// order keeps and submits a request. Its uploads are opened here, and the other files are
// among given or a container's.
func (s *Server) order(ctx context.Context, who tokens.Identity, key string, request ipc.Request, given []stagedFile) (ipc.Result, error) {
	g, ok := s.Live.Registry().ByFolder(who.Folder)
	if !ok {
		return ipc.Result{}, tokens.ErrUnauthorized
	}
	if request.Thread != "" && request.Thread != who.Thread {
		return ipc.Result{}, httpd.Refuse(http.StatusUnprocessableEntity, ipc.CodeConflict, "the token's conversation decides the thread", "leave the thread out")
	}
	request.Batch = false // the results of batches are read by nobody here
	s.place(who, g, &request)
	request.Time = "" // each attempt has another
	files, uploads, err := s.open(who, &request, given, s.Live.SharesDirectories(g))
	defer func() {
		for _, f := range files {
			if c, ok := f.file.(*os.File); ok {
				_ = c.Close()
			}
		}
	}()
	if err != nil {
		return ipc.Result{}, err
	}
	content, err := contentOf(request, files)
	if err != nil { // refused before anything is kept
		return ipc.Result{}, err
	}
	result, err := s.deliver(ctx, who, key, content, request, files)
	if err != nil {
		return result, err
	}
	s.releaseUploads(who, result.ID, uploads...)
	return result, nil
}

// contentOf is a hash of all that a request says, and of its files. The ids of uploads do
// not count: a repeated call may have uploaded them again.
func contentOf(request ipc.Request, files []stagedFile) ([]byte, error) {
	sums := map[string]string{}
	for _, f := range files {
		sums[f.path] = hex.EncodeToString(f.sum)
	}
	request.Files = slices.Clone(request.Files)
	for i := range request.Files {
		for _, path := range []*string{&request.Files[i].Path, &request.Files[i].Source} {
			if sum, ok := sums[*path]; ok {
				*path = uploadPrefix + sum
			}
		}
	}
	b, err := ipc.Encode(request)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

// open opens the uploads that a request names, each once, and returns them, too. A path of
// a container is refused if no directory is shared.
func (s *Server) open(who tokens.Identity, request *ipc.Request, given []stagedFile, shares bool) (files []stagedFile, uploads []*mediaCall, err error) {
	files = append(files, given...)
	known := map[string]bool{"": true}
	for _, f := range given {
		known[f.path] = true
	}
	for i := range request.Files {
		f := &request.Files[i]
		if f.Name == "" && strings.HasPrefix(f.Path, uploadPrefix) {
			return files, uploads, errNoName
		}
		for _, path := range []string{f.Path, f.Source} {
			id, ok := strings.CutPrefix(path, uploadPrefix)
			switch {
			case known[path]:
				continue
			case !ok && !shares:
				return files, uploads, errNotShared
			case !ok:
				continue
			}
			c := &mediaCall{}
			if err := s.useUpload(who, id, c); err != nil {
				return files, uploads, err
			}
			known[path] = true
			files = append(files, stagedFile{path: path, name: fmt.Sprint(stagedName, "-", len(files)), file: c.file, sum: c.sum.Sum(nil), gone: c.gone})
			uploads = append(uploads, c)
		}
	}
	return files, uploads, nil
}

// dropUpload deletes an upload that no delivery needs.
func (s *Server) dropUpload(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	id := r.PathValue("id")
	if !ipc.ValidID(id) {
		return errNoUpload
	}
	name := uploadName(who, id)
	if !s.uploads.begin(name) {
		return httpd.Refuse(http.StatusConflict, "upload_busy", "this upload is being written", "wait for its writer")
	}
	defer s.uploads.end(name)
	if _, _, err := s.upload(name); err != nil {
		return err
	}
	if err := s.deleteUpload(name); err != nil {
		return err
	}
	rw.WriteHeader(http.StatusNoContent)
	return nil
}
