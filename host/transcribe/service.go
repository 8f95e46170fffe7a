package transcribe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// newClient follows no redirect, which could carry the key elsewhere.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post has a service transcribe, by the form of
// https://platform.openai.com/docs/api-reference/audio/createTranscription.
func (t *Transcriber) post(ctx context.Context, e Entry, sound *os.File, size int64, mime string) (string, error) {
	body, length, kind, err := form(e, io.NewSectionReader(sound, 0, size), size, mime)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, body)
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "longshore")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask service: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	if len(answer) > maxAnswer {
		return "", fmt.Errorf("the answer is larger than %s", media.Size(maxAnswer))
	}
	return textIn(e, resp.StatusCode, answer)
}

// form is the request's body, of which only the sound is not in memory.
func form(e Entry, sound io.Reader, size int64, mime string) (body io.Reader, length int64, kind string, err error) {
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	for _, field := range [][2]string{{"model", e.Model}, {"language", e.Language}, {"response_format", "json"}} {
		if field[1] != "" {
			err = errors.Join(err, w.WriteField(field[0], field[1]))
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="file"; filename="voice`+media.ExtensionFor(mime)+`"`)
	header.Set("Content-Type", mime)
	_, failed := w.CreatePart(header)
	if err = errors.Join(err, failed); err != nil {
		return nil, 0, "", fmt.Errorf("make request: %w", err)
	}
	before := bytes.Clone(head.Bytes())
	head.Reset()
	if err := w.Close(); err != nil {
		return nil, 0, "", fmt.Errorf("make request: %w", err)
	}
	length = int64(len(before)) + size + int64(head.Len())
	return io.MultiReader(bytes.NewReader(before), sound, &head), length, w.FormDataContentType(), nil
}

// textIn reads a service's answer.
func textIn(e Entry, status int, answer []byte) (string, error) {
	var said struct {
		Text  *string `json:"text"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(answer, &said)
	switch {
	case status != http.StatusOK:
		why := said.Error.Message
		if e.Key != "" {
			why = strings.ReplaceAll(why, e.Key, "[redacted]")
		}
		return "", fmt.Errorf("the service answered %d: %q", status, media.Cut(why, 200))
	case err != nil || said.Text == nil:
		return "", errors.New("the answer is no JSON object with a text")
	}
	return *said.Text, nil
}
