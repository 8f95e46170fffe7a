package web_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// chromium is a headless browser, driven by its DevTools protocol over a
// pipe: JSON messages, each ended by a NUL.
type chromium struct {
	t       testing.TB
	to      io.Writer
	mu      sync.Mutex
	next    int
	replies map[int]chan reply
	events  map[string]chan json.RawMessage // session + method
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// tab is one page of it.
type tab struct {
	*chromium
	session string
}

// browse starts a browser, or skips the test where there is none.
func browse(t testing.TB) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal("chromium is not installed")
		}
		t.Skip("chromium is not installed")
	}
	toBrowser, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	c := &chromium{t: t, to: to, replies: map[int]chan reply{}, events: map[string]chan json.RawMessage{}}
	read := make(chan struct{})
	go func() { defer close(read); c.read(from) }()
	t.Cleanup(func() {
		// Asked to close it tidies its directory up; the pipe's end says when.
		c.command("", "Browser.close", nil)
		to.Close()
		select {
		case <-read:
		case <-time.After(10 * time.Second):
		}
		cancel()
		_ = cmd.Wait() // how it ended does not matter
		from.Close()
		<-read
	})
	return c
}

func (c *chromium) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		b, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID        int
			Method    string
			SessionID string
			Params    json.RawMessage
			reply
		}
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		c.mu.Lock()
		if ch := c.replies[m.ID]; m.ID != 0 && ch != nil {
			delete(c.replies, m.ID)
			ch <- m.reply
		}
		if ch := c.events[m.SessionID+m.Method]; ch != nil {
			select {
			case ch <- m.Params:
			default:
			}
		}
		c.mu.Unlock()
	}
}

// command starts a command; its reply comes on the channel.
func (c *chromium) command(session, method string, params any) chan reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	ch := make(chan reply, 1)
	c.replies[c.next] = ch
	m := map[string]any{"id": c.next, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	_, _ = c.to.Write(append(b, 0)) // a browser that is gone does not answer either
	return ch
}

// ask waits for a command's result.
func (c *chromium) ask(session, method string, params any) (json.RawMessage, error) {
	select {
	case r := <-c.command(session, method, params):
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

func (c *chromium) call(session, method string, params, result any) {
	c.t.Helper()
	b, err := c.ask(session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(b, result)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

type screen struct {
	width, height int
	dark, phone   bool
}

// open shows a page and waits until its scripts have loaded.
func (c *chromium) open(url string, s screen) *tab {
	c.t.Helper()
	var target struct{ TargetID string }
	c.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{chromium: c, session: attached.SessionID}
	p.do("Page.enable", nil)
	p.do("Runtime.enable", nil)
	p.do("DOM.enable", nil)
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": s.width, "height": s.height, "deviceScaleFactor": 1, "mobile": s.phone})
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	p.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	loaded := p.on("Page.loadEventFired")
	p.do("Page.navigate", map[string]any{"url": url})
	select {
	case <-loaded:
	case <-time.After(30 * time.Second):
		c.t.Fatal("the page did not load")
	}
	return p
}

// on returns the events of a method from now on; those that nobody takes in
// time are dropped.
func (p *tab) on(method string) <-chan json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan json.RawMessage, 64)
	p.events[p.session+method] = ch
	return ch
}

func (p *tab) do(method string, params any) {
	p.t.Helper()
	p.call(p.session, method, params, nil)
}

// eval returns a script's value; promises are awaited.
func (p *tab) eval(script string, out any) {
	p.t.Helper()
	if err := p.evaluate(script, out); err != nil {
		p.t.Fatal(err)
	}
}

// evaluate fails where the page goes away under the script.
func (p *tab) evaluate(script string, out any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	reply, err := p.ask(p.session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	if r.ExceptionDetails != nil {
		return fmt.Errorf("%s: %s %s", script, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}

// wait blocks until the expression is true, looking once a frame.
func (p *tab) wait(expression string) {
	p.t.Helper()
	script := fmt.Sprintf(`new Promise((done) => { const end = performance.now() + 15000;
		const look = () => { let v = false; try { v = !!(%s); } catch {} ; v || performance.now() > end ? done(v) : setTimeout(look, 16); }; look(); })`, expression)
	var ok bool
	if p.evaluate(script, &ok) != nil {
		// The page went to another one meanwhile: look there.
		p.eval(script, &ok)
	}
	if !ok {
		var body string
		p.eval("document.body.innerText", &body)
		p.shot("failure.png")
		p.t.Fatalf("the page never came to %s; it says:\n%s", expression, body)
	}
}

// write types text into the element with the focus.
func (p *tab) write(text string) {
	p.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text})
}

func (p *tab) enter() {
	p.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p.do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"})
	}
}

// choose puts files into the page's file field.
func (p *tab) choose(paths ...string) {
	p.t.Helper()
	var doc struct{ Root struct{ NodeID int } }
	p.call(p.session, "DOM.getDocument", nil, &doc)
	var field struct{ NodeID int }
	p.call(p.session, "DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": "#files"}, &field)
	p.do("DOM.setFileInputFiles", map[string]any{"files": paths, "nodeId": field.NodeID})
}

// shot keeps a picture of the page among the test's artifacts.
func (p *tab) shot(name string) {
	p.t.Helper()
	var out struct{ Data string }
	p.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	b, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	dir := os.Getenv("LONGSHORE_ARTIFACTS")
	if dir == "" {
		dir = p.t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
