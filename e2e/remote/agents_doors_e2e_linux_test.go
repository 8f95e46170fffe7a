//go:build e2e

package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
)

var theCLIs = []string{"claude", "codex", "gemini", "opencode"}

// doors is one host with the page, WhatsApp and every way in for an assistant that shares
// no directory. Each CLI has a group for each way, which may also send to the WhatsApp
// group.
type doors struct {
	*stage.Harbour
	page, door string
	model      *modeltest.Server
	operator   *operator.Client
}

// waysIn are the beginnings of the groups' folders.
var waysIn = []string{"lone", "far", "http"}

func newDoors(t *testing.T) *doors {
	t.Helper()
	_, engine := containertest.Engine(t)
	t.Setenv("DOCKER_HOST", engine)
	m := sshtest.Start(t)
	d := &doors{Harbour: stage.NewHarbour(t), page: stage.FreeAddress(t), door: stage.FreeAddress(t)}
	d.model = modeltest.New(t, d.script)
	env := []string{"LONGSHORE_MODEL: gemini-2.5-flash"} // opencode wants one to be named where it is told a server
	for _, v := range d.model.Env() {
		name, value, _ := strings.Cut(v, "=")
		env = append(env, fmt.Sprintf("%s: %q", name, value))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "state: ./state\nlimits: {assistants: 3, free_disk: 1MB, rate: {per_minute: 1000, burst: 1000}}\nchannels: {whatsapp: {}, web: {listen: %q}}\nremote: {listen: %q}\nassistants:\n  http: {runtime: remote}\n", d.page, d.door)
	for _, cli := range theCLIs {
		fmt.Fprintf(&b, "  lone-%s: {runtime: docker, agent: %s, image: %q, network: none, share: none, keys: proxy, env: {%s}}\n", cli, cli, containertest.AgentImage(t, cli), strings.Join(env, ", "))
		onItsOwn := append(slices.Clone(env), fmt.Sprintf("LONGSHORE_AGENT_PROGRAM: %q", modeltest.Install(t, cli)), fmt.Sprintf("PATH: %q", os.Getenv("PATH")))
		fmt.Fprintf(&b, "  far-%s: %s\n", cli, onMachine(m, fmt.Sprintf(", agent: %s, env: {%s}", cli, strings.Join(onItsOwn, ", "))))
	}
	fmt.Fprintf(&b, "groups:\n  - {folder: crew, chat: %q}\n", d.Group)
	for _, way := range waysIn {
		for _, cli := range theCLIs {
			folder, assistant := way+"-"+cli, way+"-"+cli
			if way == "http" {
				assistant = way
			}
			fmt.Fprintf(&b, "  - {folder: %s, chat: \"web:%s\", assistant: %s, may_send_to: [crew], gather: {after: 0s}}\n", folder, folder, assistant)
		}
	}
	sshtest.Write(t, filepath.Join(d.Dir, "longshore.yaml"), b.String())
	d.leaveNoContainer(engine)
	d.operator = operator.NewClient(operator.ControlDir(groups.Layout{State: filepath.Join(d.Dir, "state")}))
	d.Link()
	return d
}

func (d *doors) leaveNoContainer(engine string) {
	d.T.Helper()
	api, err := client.New(client.WithHost(engine))
	if err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(func() { // after the host has ended
		for _, cli := range theCLIs {
			ctx := context.Background()
			list, err := api.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group=lone-"+cli)})
			for _, c := range list.Items {
				_, err = api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true})
			}
			_, gone := api.VolumeRemove(ctx, docker.Volume(stage.OwnerOf(filepath.Join(d.Dir, "state")), "lone-"+cli), client.VolumeRemoveOptions{Force: true})
			if err := errors.Join(err, gone); err != nil {
				d.T.Log(err)
			}
		}
		api.Close()
	})
}

var tableName = regexp.MustCompile(`tides-(lone|far|http)-[a-z]+`)

// script sends the table that the prompt names to the group's own chat, and then to the
// WhatsApp group: over HTTP without a program of ours, where the host sees no file of the
// CLI, as an upload and then within the call.
func (d *doors) script(r modeltest.Request) modeltest.Answer {
	name := tableName.FindString(r.Body)
	way := strings.Split(name+"--", "-")[1]
	file := map[string]any{"file_path": "/workspace/group/inbox/" + name + ".csv"}
	if way == "http" {
		file = map[string]any{"file_path": "upload:" + name, "file_name": name + ".csv"}
	}
	switch len(r.Results) {
	case 0:
		return modeltest.Answer{Text: "there is no tool", Call: "send_file", Args: file}
	case 1:
		if way == "http" {
			return modeltest.Answer{Text: "there is no tool", Call: "send_attachment",
				Args: map[string]any{"file_name": name + ".csv", "content_base64": base64.StdEncoding.EncodeToString(tableOf(name)), "chat": d.Group.String()}}
		}
		file["chat"] = d.Group.String()
		return modeltest.Answer{Text: "there is no tool", Call: "send_file", Args: file}
	}
	return modeltest.Answer{Text: "The tide table. " + strings.Join(r.Results, " ")}
}

// tableOf is the file of one group, 200 KB that no other has.
func tableOf(name string) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s,06:12,4.1\r\n", name), 6000)
}

// arrived wants the file in the group's chat on the page and with Anna on WhatsApp, byte
// for byte.
func (d *doors) arrived(t *testing.T, m stage.Member, name, after string) {
	t.Helper()
	want := stage.Digest(tableOf(name))
	isIt := func(msg history.Message) bool {
		return msg.Assistant && msg.File != nil && msg.File.Name == name+".csv"
	}
	seen := stage.Guest{Member: m, T: t}.Sees(after, func(all []history.Message) bool { return slices.ContainsFunc(all, isIt) })
	file := seen[slices.IndexFunc(seen, isIt)].File
	if got, err := m.Download(t.Context(), file.URL); err != nil || got != want {
		t.Errorf("on the page is %s, want %s, %v", got, want, err)
	}
	d.onWhatsApp(t, name)
}

func (d *doors) onWhatsApp(t *testing.T, name string) {
	t.Helper()
	e, err := whatsapptest.Await(stage.Soon(t), d.Anna, 0, func(e *events.Message) bool { return e.Message.GetDocumentMessage().GetFileName() == name+".csv" })
	if err != nil {
		t.Fatalf("nothing came to WhatsApp: %v", err)
	}
	if got, err := d.Anna.Fetch(stage.Soon(t), e.Message); err != nil || got.SHA256 != stage.Digest(tableOf(name)) {
		t.Errorf("on WhatsApp is %+v, %v", got, err)
	}
}

// TestRealAgentsFilesArriveByEveryDoor: from containers that share nothing, over ssh, and
// over HTTP by the configuration that mcp-config prints. In the first two the CLI sends what
// a member has sent, and its model's key stays with the host.
func TestRealAgentsFilesArriveByEveryDoor(t *testing.T) {
	d := newDoors(t)
	host := d.Serve()
	t.Run("doors", func(t *testing.T) {
		for _, way := range waysIn {
			for _, cli := range theCLIs {
				folder := way + "-" + cli
				m, name := stage.Member{Base: "http://" + d.page, Chat: folder}, "tides-"+folder
				t.Run(folder, func(t *testing.T) {
					t.Parallel()
					if way == "http" {
						d.overHTTP(t, cli, folder, name)
						d.arrived(t, m, name, "")
						return
					}
					asked := stage.Guest{Member: m, T: t}.Posts("the table "+name+", please", "", map[string]string{name + ".csv": string(tableOf(name))})
					d.arrived(t, m, name, asked)
					if t.Failed() {
						log, _ := os.ReadFile(filepath.Join(d.Dir, "state/logs", folder, "assistant.log"))
						t.Logf("the assistant's log:\n%s", log)
					}
				})
			}
		}
	})
	t.Run("clients", d.otherClients)
	host.Stop()
}

// token is a new one of a group.
func (d *doors) token(t *testing.T, folder string) string {
	t.Helper()
	made, err := d.operator.MakeToken(t.Context(), operator.TokenOrder{Group: folder})
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// upload gives the host a file by HTTP.
func (d *doors) upload(t *testing.T, token, id string, content []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+d.door+"/api/files/"+id, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Upload-Length", fmt.Sprint(len(content)))
	req.Header.Set("Upload-SHA256", stage.Digest(content))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode >= 300 {
		t.Fatal(res.Status)
	}
}

// printed is what mcp-config prints for a program.
func (d *doors) printed(t *testing.T, program string) string {
	t.Helper()
	out, err := d.Command("mcp-config", "--transport", "http", "--for", program, "--url", "http://"+d.door).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// overHTTP runs a CLI, as its own user would, with what mcp-config prints for it.
func (d *doors) overHTTP(t *testing.T, cli, folder, name string) {
	t.Helper()
	token, home := d.token(t, folder), t.TempDir()
	d.upload(t, token, name, tableOf(name))
	cmd := d.byItself(t, cli, home, "the table "+name+", please")
	cmd.Env = append(cmd.Env, "LONGSHORE_TOKEN="+token)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "The tide table.") {
		t.Fatalf("%s: %v\n%s", cli, err, out)
	}
}

// byItself is a run of a CLI in a home of its own.
func (d *doors) byItself(t *testing.T, cli, home, prompt string) *exec.Cmd {
	t.Helper()
	printed, work := d.printed(t, cli), filepath.Join(home, "work")
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("work/README", "")
	env, args := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir()}, []string{}
	switch cli {
	case "claude":
		args = []string{"-p", prompt, "--mcp-config", put("mcp.json", printed), "--strict-mcp-config", "--allowedTools", "mcp__longshore"}
		env = append(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		// In TOML, keys come before the tables.
		put(".codex/config.toml", fmt.Sprintf("model = \"m\"\nmodel_provider = \"test\"\ncheck_for_update_on_startup = false\nanalytics.enabled = false\nfeatures.plugins = false\n%s\n[model_providers.test]\nname = \"test\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nsupports_websockets = false\n",
			printed, d.model.URL+"/v1"))
		args = []string{"exec", "--skip-git-repo-check", "-s", "danger-full-access", prompt}
	case "gemini":
		settings := map[string]any{"privacy": map[string]any{"usageStatisticsEnabled": false}, "general": map[string]any{"enableAutoUpdate": false},
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}}
		if err := json.Unmarshal([]byte(printed), &settings); err != nil { // adds the printed keys
			t.Fatal(err)
		}
		merged, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		put(".gemini/settings.json", string(merged))
		args = []string{"-p", prompt, "-m", "gemini-2.5-flash", "--skip-trust"}
		env = append(env, "GEMINI_CLI_NO_RELAUNCH=1")
	case "opencode":
		put("work/opencode.json", printed)
		args = []string{"run", "--model", "test/m", prompt}
		env = append(env, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", fmt.Sprintf(
			`OPENCODE_CONFIG_CONTENT={"provider":{"test":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":%q,"apiKey":"k"},"models":{"m":{}}}},"permission":{"*":"allow"}}`, d.model.URL+"/v1"))
	}
	cmd := exec.CommandContext(stage.Soon(t), modeltest.Install(t, cli), args...)
	cmd.Dir, cmd.Env = work, append(env, d.model.Env()...)
	return cmd
}
