//go:build e2e

package remote

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
)

// bearer shows a token with each request.
type bearer struct {
	token string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

// mcpClient is one that nobody here wrote. An error says that the door refused its token.
type mcpClient interface {
	tools(t *testing.T, token string) ([]string, error)
	// call returns what the model would see, whether the call failed or not.
	call(t *testing.T, token, tool string, args map[string]string) (string, error)
}

// sdk is the go-sdk.
type sdk struct{ url string }

func (s sdk) connect(t *testing.T, token string) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{token, transport}}, DisableStandaloneSSE: true}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func (s sdk) tools(t *testing.T, token string) (names []string, err error) {
	t.Helper()
	session, err := s.connect(t, token)
	if err != nil {
		return nil, err
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s sdk) call(t *testing.T, token, tool string, args map[string]string) (string, error) {
	t.Helper()
	session, err := s.connect(t, token)
	if err != nil {
		return "", err
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(result)
	return string(b), err
}

// inspector is the command that mcp-config prints for the inspector, and calls like it.
type inspector struct{ program, printed string }

func (i inspector) run(t *testing.T, token string, more ...string) ([]byte, error) {
	t.Helper()
	line := strings.Replace(strings.TrimSpace(i.printed), "npx @modelcontextprotocol/inspector", `"$0"`, 1)
	if len(more) > 0 {
		line = strings.Replace(line, "--method tools/list", `--method tools/call "$@"`, 1)
	}
	cmd := exec.CommandContext(stage.Soon(t), "sh", append([]string{"-c", line, i.program}, more...)...)
	cmd.Env = append(cmd.Environ(), "LONGSHORE_TOKEN="+token)
	return cmd.Output()
}

func (i inspector) tools(t *testing.T, token string) (names []string, err error) {
	t.Helper()
	out, err := i.run(t, token)
	var list struct{ Tools []struct{ Name string } }
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, err
}

func (i inspector) call(t *testing.T, token, tool string, args map[string]string) (string, error) {
	t.Helper()
	more := []string{"--tool-name", tool}
	for name, value := range args {
		more = append(more, "--tool-arg", name+"="+value)
	}
	out, err := i.run(t, token, more...)
	return string(out), err
}

// otherClients have the tools by HTTP as the CLIs do: listed, sent, refused, and not without
// a token that counts.
func (d *doors) otherClients(t *testing.T) {
	url := "http://" + d.door + "/mcp"
	for folder, c := range map[string]mcpClient{"http-claude": sdk{url}, "http-codex": inspector{modeltest.Install(t, "mcp-inspector"), d.printed(t, "inspector")}} {
		t.Run(strings.ReplaceAll(folder, "http-", "as "), func(t *testing.T) {
			t.Parallel()
			token, name := d.token(t, folder), "tides-"+folder+"-again"
			if names, err := c.tools(t, token); err != nil || !slices.Contains(names, "send_file") || !slices.Contains(names, "send_attachment") || slices.Contains(names, "send_as_pdf") {
				t.Errorf("tools %v, %v", names, err)
			}
			d.upload(t, token, name, tableOf(name))
			sent, err := c.call(t, token, "send_file", map[string]string{"file_path": "upload:" + name, "file_name": name + ".csv", "chat": d.Group.String()})
			if err != nil || !strings.Contains(sent, name+".csv (") || strings.Contains(sent, "refused") {
				t.Errorf("send_file: %s, %v", sent, err)
			}
			d.onWhatsApp(t, name)
			refused, err := c.call(t, token, "send_message", map[string]string{"text": "no", "chat": "web:lone-claude"})
			if err != nil || !strings.Contains(refused, groups.CodeChatNotAllowed) {
				t.Errorf("another's chat: %s, %v", refused, err)
			}
			if names, err := c.tools(t, token+"x"); err == nil {
				t.Errorf("a wrong token lists %v", names)
			}
			if said, err := c.call(t, token+"x", "send_message", map[string]string{"text": "no"}); err == nil {
				t.Errorf("a wrong token hears %s", said)
			}
			if left, err := filepath.Glob(filepath.Join(d.Dir, "state/remote/uploads/*"+name+"*")); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
