// Package browsertest drives a real headless Chromium for tests of pages,
// through the DevTools protocol over a pipe. Errors fail the test. Only tests
// of the second tier (tag e2e) import it.
//
// Pictures go to the directory that LONGSHORE_ARTIFACTS names, or else to the
// test's own.
package browsertest

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

	"github.com/longshore-bridge/longshore/internal/need"
)

// Browser is a headless Chromium. JSON messages go over a pipe, each ended by a
// NUL.
type Browser struct {
	t       testing.TB
	to      io.Writer
	mu      sync.Mutex
	next    int
	replies map[int]chan reply
	events  map[string]chan json.RawMessage // session + method
	empty   string                          // the session of a page that is not used yet
	gone    chan struct{}                   // closed when the browser has ended
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Tab is one page of a Browser.
type Tab struct {
	*Browser
	session string
	thrown  <-chan json.RawMessage // the page's errors that nobody caught
}

// Start starts a browser that ends with the test. If this machine cannot open a
// page with Chromium, it ends the test by need.Lacking.
func Start(t testing.TB) *Browser {
	t.Helper()
	c, err := start(t)
	if err == nil {
		c.empty, err = c.attach()
	}
	if err != nil {
		need.Lacking(t, "open a page in Chromium: %v", err)
	}
	return c
}

func start(t testing.TB) (*Browser, error) {
	toBrowser, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, fromBrowser, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser}
	err = cmd.Start()
	toBrowser.Close()
	fromBrowser.Close()
	c := &Browser{t: t, to: to, replies: map[int]chan reply{}, events: map[string]chan json.RawMessage{}, gone: make(chan struct{})}
	go func() { defer close(c.gone); c.read(from) }() // ends at once if nothing was started
	t.Cleanup(func() {
		// After Browser.close, Chromium cleans its directory up and then closes
		// the pipe.
		c.command("", "Browser.close", nil)
		to.Close()
		select {
		case <-c.gone:
		case <-time.After(10 * time.Second):
		}
		cancel()
		if err == nil {
			_ = cmd.Wait() // the exit status does not matter
		}
		from.Close()
		<-c.gone
	})
	return c, err
}

func (c *Browser) read(from io.Reader) {
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

// command sends a command and returns the channel for its reply.
func (c *Browser) command(session, method string, params any) chan reply {
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
	_, _ = c.to.Write(append(b, 0)) // a browser that is gone does not reply either
	return ch
}

// ask sends a command and waits for its result.
func (c *Browser) ask(session, method string, params any) (json.RawMessage, error) {
	select {
	case r := <-c.command(session, method, params):
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r.Result, nil
	case <-c.gone:
		return nil, fmt.Errorf("%s: the browser has ended", method)
	case <-time.After(60 * time.Second):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

// get sends a command and decodes its result, unless that is nil.
func (c *Browser) get(session, method string, params, result any) error {
	b, err := c.ask(session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(b, result)
	}
	return err
}

func (c *Browser) call(session, method string, params, result any) {
	c.t.Helper()
	if err := c.get(session, method, params, result); err != nil {
		c.t.Fatal(err)
	}
}

// attach makes an empty page and returns its session.
func (c *Browser) attach() (session string, err error) {
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	if err := c.get("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return "", err
	}
	err = c.get("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	return attached.SessionID, err
}

// Screen is the screen that shows a page.
type Screen struct {
	Width, Height int // pixels
	Dark, Phone   bool
}

// Open shows a page and waits until its scripts have loaded.
func (c *Browser) Open(url string, s Screen) *Tab {
	c.t.Helper()
	session := c.empty
	if c.empty = ""; session == "" {
		var err error
		if session, err = c.attach(); err != nil {
			c.t.Fatal(err)
		}
	}
	p := &Tab{Browser: c, session: session}
	p.thrown = p.On("Runtime.exceptionThrown")
	p.Do("Page.enable", nil)
	p.Do("Runtime.enable", nil)
	p.Do("DOM.enable", nil)
	p.Do("Emulation.setDeviceMetricsOverride", map[string]any{"width": s.Width, "height": s.Height, "deviceScaleFactor": 1, "mobile": s.Phone})
	p.Do("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": s.Phone})
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	p.Do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	p.Do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	loaded := p.On("Page.loadEventFired")
	p.Do("Page.navigate", map[string]any{"url": url})
	select {
	case <-loaded:
	case <-time.After(30 * time.Second):
		c.t.Fatal("the page did not load")
	}
	return p
}

// On returns the events of a method from now on. Events that nobody receives in
// time are discarded.
func (p *Tab) On(method string) <-chan json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan json.RawMessage, 64)
	p.events[p.session+method] = ch
	return ch
}

// Do runs a DevTools command and waits until it is done.
func (p *Tab) Do(method string, params any) {
	p.t.Helper()
	p.call(p.session, method, params, nil)
}

// Get runs a DevTools command and decodes its result.
func (p *Tab) Get(method string, params, result any) {
	p.t.Helper()
	p.call(p.session, method, params, result)
}

// Eval runs a script and returns its value; it awaits promises.
func (p *Tab) Eval(script string, out any) {
	p.t.Helper()
	if err := p.evaluate(script, out); err != nil {
		p.t.Fatal(err)
	}
}

// evaluate fails if the page goes away during the script.
func (p *Tab) evaluate(script string, out any) error {
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

// Wait blocks until the expression is true, and checks it once per frame.
func (p *Tab) Wait(expression string) {
	p.t.Helper()
	script := fmt.Sprintf(`new Promise((done) => { const end = performance.now() + 30000;
		const look = () => { let v = false; try { v = !!(%s); } catch {} ; v || performance.now() > end ? done(v) : setTimeout(look, 16); }; look(); })`, expression)
	var ok bool
	for range 4 { // the page may navigate meanwhile, more than once
		if p.evaluate(script, &ok) == nil {
			break
		}
	}
	if !ok {
		var body string
		p.Eval("document.body.innerText", &body)
		p.Shot("failure.png")
		p.t.Fatalf("the page never came to %s; it says:\n%s%s", expression, body, p.errors())
	}
}

// errors are the page's own, one a line.
func (p *Tab) errors() (all string) {
	for {
		select {
		case e := <-p.thrown:
			all += "\n" + string(e)
		default:
			return all
		}
	}
}

// Write types text into the element with the focus.
func (p *Tab) Write(text string) {
	p.t.Helper()
	p.Do("Input.insertText", map[string]any{"text": text})
}

// Enter presses the key.
func (p *Tab) Enter() {
	p.t.Helper()
	p.press(map[string]any{"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"})
}

// Key presses a key that writes nothing, by its name and number.
func (p *Tab) Key(name string, number int) {
	p.t.Helper()
	p.press(map[string]any{"key": name, "code": name, "windowsVirtualKeyCode": number})
}

func (p *Tab) press(key map[string]any) {
	p.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		key["type"] = kind
		p.Do("Input.dispatchKeyEvent", key)
	}
}

// Choose puts files into the page's file field.
func (p *Tab) Choose(paths ...string) {
	p.t.Helper()
	var doc struct{ Root struct{ NodeID int } }
	p.call(p.session, "DOM.getDocument", nil, &doc)
	var field struct{ NodeID int }
	p.call(p.session, "DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": "#files"}, &field)
	p.Do("DOM.setFileInputFiles", map[string]any{"files": paths, "nodeId": field.NodeID})
}

// Shot saves a picture of the page as a PNG among the test's artifacts.
func (p *Tab) Shot(name string) []byte {
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
	return b
}
