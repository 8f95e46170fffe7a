package remoteclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestMessagesAreFetchedAndEnded, over a host that loses an answer.
func TestMessagesAreFetchedAndEnded(t *testing.T) {
	calls := 0
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if calls++; calls%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		body, _ := io.ReadAll(r.Body)
		switch path := strings.TrimPrefix(r.URL.Path, "/behind/a/proxy"); {
		case path == "/api/inbox" && r.URL.Query().Get("wait") == "45s" && r.URL.Query().Get("after") == "c&d":
			fmt.Fprint(rw, `{"messages":[{"id":"7","calls":true,"text":"hello","files":[{"n":1,"name":"a","size":3}]}],"cursor":"7","waiting":1}`)
		case path == "/api/inbox/7/ack" && string(body) == `{"text":"yes"}`:
			fmt.Fprint(rw, `{"id":"7","acknowledged":true}`)
		case path == "/api/inbox/8/ack" && len(body) == 0:
			fmt.Fprint(rw, `{"id":"8","acknowledged":false}`)
		default:
			t.Errorf("%s %s", r.URL, body)
		}
	})
	in, err := c.Inbox(t.Context(), "c&d", 45*time.Second)
	if err != nil || len(in.Messages) != 1 || in.Messages[0].Text != "hello" || in.Messages[0].Files[0].Size != 3 || in.Cursor != "7" || in.Waiting != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	if done, err := c.Ack(t.Context(), "7", "yes"); !done || err != nil {
		t.Error(done, err)
	}
	if done, err := c.Ack(t.Context(), "8", ""); done || err != nil {
		t.Error(done, err)
	}
}

// TestMembersFileComesInPieces, byte for byte, from a server of ranges that nobody here wrote.
func TestMembersFileComesInPieces(t *testing.T) {
	content, calls := bytes.Repeat([]byte("ship "), piece/2), 0
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if calls++; calls == 2 {
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(content))
	})
	message, file := ipc.Message{ID: "7"}, ipc.MessageFile{Number: 1, Size: int64(len(content))}
	var got bytes.Buffer
	if err := c.CopyFile(t.Context(), &got, message, file); err != nil || !bytes.Equal(got.Bytes(), content) || calls != 4 {
		t.Errorf("%d bytes in %d calls: %v", got.Len(), calls, err)
	}
	file.Size++ // of another file
	var problem *Problem
	if err := c.CopyFile(t.Context(), io.Discard, message, file); !errors.As(err, &problem) || problem.Code != "file_changed" {
		t.Error(err)
	}
	file.Missing = "it was too large"
	if err := c.CopyFile(t.Context(), io.Discard, message, file); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// TestAFetchSaysWhyItFails, and ends with its caller.
func TestAFetchSaysWhyItFails(t *testing.T) {
	var problem *Problem
	for body, code := range map[string]string{
		`{"error":{"code":"no_inbox","message":"m","hint":"h"}}`: "no_inbox", `{}`: "not_longshore", `<html>`: "not_longshore", `{"messages":null}`: "not_longshore",
	} {
		c := serve(t, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, body) })
		if _, err := c.Inbox(t.Context(), "", 0); !errors.As(err, &problem) || problem.Code != code {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := c.Ack(t.Context(), "7", ""); !errors.As(err, &problem) || problem.Code != code {
			t.Errorf("%s: %v", body, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	hanging := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := hanging.Inbox(ctx, "", time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A host that had taken the question could not know the repeated call.
func TestALostAnswerMadeTwoQuestions(t *testing.T) {
	var ids []string
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		var asks struct{ ID, Tool, Description, Input string }
		if err := json.NewDecoder(r.Body).Decode(&asks); err != nil || len(asks.ID) != 32 {
			t.Errorf("%+v, %v", asks, err)
		}
		if ids = append(ids, asks.ID); len(ids) == 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(rw, `{"id":%q}`, asks.ID)
	})
	p, err := c.AskPermission(t.Context(), ipc.Permission{Tool: "Bash"})
	if err != nil || len(ids) != 2 || ids[0] != ids[1] || p.ID != ids[0] {
		t.Errorf("%v: %+v, %v", ids, p, err)
	}
	if _, err := c.AskPermission(t.Context(), ipc.Permission{Tool: "Bash"}); err != nil || ids[2] == ids[0] {
		t.Errorf("a further question has the id %v, %v", ids, err)
	}
}
