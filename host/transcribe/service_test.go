package transcribe_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/confine"
)

const key = "sk-verysecret"

func service(t *testing.T, answer http.HandlerFunc) transcribe.Entry {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return transcribe.Entry{URL: s.URL + "/v1/audio/transcriptions", Model: "whisper-1", Language: "en", Key: key, Timeout: time.Minute}
}

func ask(t *testing.T, entries ...transcribe.Entry) (transcribe.Transcript, error) {
	t.Helper()
	tr := transcribe.New(confine.Off, temporary(t))
	t.Cleanup(tr.Close)
	return tr.Transcribe(t.Context(), entries, soundFile(t, []byte("the sound")), "audio/ogg")
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, text)
	}
}

func TestAServiceGetsTheSoundAsAFormAndItsTextComesBack(t *testing.T) {
	var got, sound string
	e := service(t, func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		data, _ := io.ReadAll(f)
		sound = string(data)
		got = fmt.Sprint(r.Method, r.URL.Path, r.Header.Get("Authorization"), r.ContentLength > 0, len(r.TransferEncoding),
			h.Filename, h.Header.Get("Content-Type"), r.FormValue("model"), r.FormValue("language"), r.FormValue("response_format"))
		fmt.Fprint(w, `{"text":" Send me the report. ","usage":{"type":"duration","seconds":3}}`)
	})
	found, err := ask(t, e)
	check(t, err)
	if want := fmt.Sprint("POST", "/v1/audio/transcriptions", "Bearer "+key, true, 0, "voice.ogg", "audio/ogg", "whisper-1", "en", "json"); got != want {
		t.Errorf("the service got %s, want %s", got, want)
	}
	if sound != "the sound" || found.Text != "Send me the report." {
		t.Errorf("sound %q, text %q", sound, found.Text)
	}
}

func TestTheNextServiceIsAskedWhenOneFails(t *testing.T) {
	elsewhere := service(t, says(`{"text":"stolen"}`))
	for name, bad := range map[string]http.HandlerFunc{
		"a web page":     says("<html>welcome</html>"),
		"no text":        says(`{"words":[]}`),
		"silence":        says(`{"text":"  "}`),
		"a huge answer":  says(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`),
		"an endless one": func(w http.ResponseWriter, r *http.Request) { endless(w) },
		"a refusal": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":{"message":"no such key `+key+`"}}`, 401)
		},
		"another address": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"a hung up answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			failing := service(t, bad)
			if _, err := ask(t, failing); err == nil || strings.Contains(err.Error(), key) || len(err.Error()) > 1000 {
				t.Errorf("the error is %v", err)
			}
			found, err := ask(t, failing, service(t, says(`{"text":"understood"}`)))
			if err != nil || found.Text != "understood" {
				t.Errorf("%q, %v", found.Text, err)
			}
		})
	}
}

func endless(w http.ResponseWriter) {
	for {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

func TestAServiceThatDoesNotAnswerIsLeftAfterItsTimeout(t *testing.T) {
	done := make(chan struct{})
	slow := service(t, func(_ http.ResponseWriter, r *http.Request) { <-done })
	t.Cleanup(func() { close(done) })
	slow.Timeout = 50 * time.Millisecond
	found, err := ask(t, slow, service(t, says(`{"text":"understood"}`)))
	if err != nil || found.Text != "understood" {
		t.Errorf("%q, %v", found.Text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := transcribe.New(confine.Off, nil).Transcribe(ctx, []transcribe.Entry{slow}, soundFile(t, []byte("x")), "audio/ogg"); err != context.Canceled {
		t.Errorf("a host that ends: %v", err)
	}
}

func TestNoProgramRunsIfTheOperatorWantsNone(t *testing.T) {
	if _, err := ask(t, transcribe.Entry{Command: []string{"cat", transcribe.FileWord}, Timeout: time.Minute}); err == nil {
		t.Error("a program ran")
	}
}
