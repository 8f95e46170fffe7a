package operator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/operator"
)

// refuse plants an entry in the errors folder, as the queue leaves it.
func (c *counter) refuse(name, body, reason string) {
	c.t.Helper()
	dir := c.Layout.Errors()
	for end, text := range map[string]string{".json": body, ".reason.json": reason} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name+end), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

const reason = `{"folder":"family","request":"018f","code":"chat_not_allowed","message":"not your chat",` +
	`"hint":"leave it out","attempts":1,"first":"2026-01-02T03:04:05Z","last":"2026-01-02T03:04:05Z","size":2}`

func TestRefusedRequestsLieBesideFailedDeliveries(t *testing.T) {
	c := newCounter(t)
	ctx := t.Context()
	c.refuse("family-018f", "{}", reason)
	c.refuse("work-v1", `{"old":"one"}`, "")
	items, err := c.List(ctx, operator.Filter{Failed: true})
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v, %v", items, err)
	}
	first := items[0]
	if first.ID != "family-018f" || first.Kind != operator.Request || first.Code != "chat_not_allowed" || first.Hint == "" || first.Group != "family" {
		t.Errorf("%+v", first)
	}
	if items[1].Code != "no_reason" || items[1].Hint == "" {
		t.Errorf("%+v", items[1])
	}
	if items, _ = c.List(ctx, operator.Filter{Failed: true, Group: "work"}); len(items) != 0 {
		t.Errorf("an entry that nobody signed is taken for a group's: %+v", items)
	}
	item, err := c.Show(ctx, "family-018f.json")
	if err != nil || item.Raw != "{}" {
		t.Errorf("%+v, %v", item, err)
	}
	if s, err := c.Status(ctx); err != nil || s.Errors != 1 {
		t.Errorf("%d, %v", s.Errors, err)
	}
}

func TestAnIDThatBeginsSeveralIsRefused(t *testing.T) {
	c := newCounter(t)
	one, two := c.accept("family", "a.txt", ""), c.accept("family", "b.txt", "")
	same := 0
	for one.Key[same] == two.Key[same] {
		same++
	}
	if _, err := c.Show(t.Context(), one.Key[:same]); codeOf(err) != operator.CodeAmbiguous {
		t.Errorf("%q begins both: %v", one.Key[:same], err)
	}
}

func TestARefusedRequestIsRetriedOrDropped(t *testing.T) {
	c := newCounter(t)
	ctx := t.Context()
	c.refuse("family-018f", `{"type":"message"}`, reason)
	if err := c.Retry(ctx, "family-018f"); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(c.Layout.IPC("family", "messages"), "018f.json"))
	if err != nil || string(body) != `{"type":"message"}` {
		t.Errorf("%q, %v", body, err)
	}
	c.refuse("family-018f", "{}", reason)
	if err := c.Drop(ctx, "family-018f"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(c.Layout.Errors()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := c.Drop(ctx, "family-018f"); codeOf(err) != operator.CodeNotFound {
		t.Errorf("the second time: %v", err)
	}
	c.refuse("family-fifo", "", strings.Replace(reason, `"size":2`, `"size":0`, 1))
	if err := c.Retry(ctx, "family-fifo"); codeOf(err) != operator.CodeNoBytes {
		t.Errorf("without bytes: %v", err)
	}
}

func TestAnAssistantsEntryUnderAKeysNameIsFound(t *testing.T) {
	c := newCounter(t)
	c.refuse("deadbeef", "{}", "")
	item, err := c.Show(t.Context(), "deadbeef")
	if err != nil || item.Kind != operator.Request {
		t.Errorf("%+v, %v", item, err)
	}
}

func TestADeliveryIsFoundByItsRequest(t *testing.T) {
	c := newCounter(t)
	d := c.accept("family", "a.txt", "")
	item, err := c.Show(t.Context(), "r-a.txt")
	if err != nil || item.ID != d.Key {
		t.Errorf("%+v, %v", item, err)
	}
}

func TestAChannelWithoutAListOfChatsSaysSo(t *testing.T) {
	c := newCounter(t)
	if _, err := c.Chats(t.Context(), "mem"); codeOf(err) != operator.CodeBadCall {
		t.Errorf("%v", err)
	}
}
