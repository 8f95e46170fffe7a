package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/ipc"
)

// BenchmarkColdStart runs the program from exec to the list of its tools,
// beside a program of one line: what the system takes to start any.
func BenchmarkColdStart(b *testing.B) {
	h := fakehost.New(b, nil)
	path, hello := binary(b), helloWorld(b)
	var floor, ours []time.Duration
	for b.Loop() { // in turn, so that a busy machine slows both
		began := time.Now()
		if err := exec.Command(hello).Run(); err != nil {
			b.Fatal(err)
		}
		floor = append(floor, time.Since(began))
		ours = append(ours, listTools(b, h, path, "mcp"))
	}
	p50, base := median(ours), median(floor)
	b.ReportMetric(p50.Seconds()*1000, "p50-ms")
	b.ReportMetric(base.Seconds()*1000, "hello-ms")
	b.ReportMetric(float64(p50)/float64(base), "x-hello")
}

// BenchmarkColdStartNode is the same against a server in Node, by the protocol's
// own SDK, which lists the same tools and can do nothing else.
func BenchmarkColdStartNode(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("there is no node")
	}
	h, path := fakehost.New(b, nil), binary(b)
	script := nodeServer(b, modeltest.Install(b, "mcp-sdk"), tools.Server(sender.New(sender.Config{IPC: h.IPC}), "bench"))
	var floor, ours []time.Duration
	for b.Loop() {
		floor = append(floor, listTools(b, h, node, script))
		ours = append(ours, listTools(b, h, path, "mcp"))
	}
	p50, base := median(ours), median(floor)
	b.ReportMetric(p50.Seconds()*1000, "p50-ms")
	b.ReportMetric(base.Seconds()*1000, "node-ms")
	b.ReportMetric(float64(p50)/float64(base), "x-node")
}

// nodeServer writes a server that lists the tools of ours beside the SDK, whose
// package.json is named.
func nodeServer(b *testing.B, sdk string, ours *server.MCPServer) string {
	var list []mcp.Tool
	for _, t := range ours.ListTools() {
		list = append(list, t.Tool)
	}
	text, err := json.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	// A module's imports are looked for beside it and above.
	if err := os.Symlink(filepath.Join(filepath.Dir(sdk), "../.."), filepath.Join(dir, "node_modules")); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "server.mjs")
	source := `import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const tools = ` + string(text) + `;
const server = new Server({ name: "floor", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
process.stdin.on("end", () => process.exit(0));
await server.connect(new StdioServerTransport());
`
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

// listTools returns the time from exec to the list.
func listTools(b *testing.B, h *fakehost.Host, command ...string) time.Duration {
	began := time.Now()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = h.Env()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for _, message := range []string{handshake, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"} {
		if _, err := io.WriteString(stdin, message); err != nil {
			b.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			b.Fatalf("%s: %v", line, err)
		}
	}
	took := time.Since(began)
	b.ReportMetric(peakMiB(cmd.Process.Pid), "peak-MiB") // what the last one held remains
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

// peakMiB is the most memory that a running process has held. The rusage of an
// ended one would not do: it begins with what the parent held at the fork.
func peakMiB(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // not Linux
	}
	var kb float64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(after, &kb)
	return kb / 1024
}

// BenchmarkCallToDrop runs a send_file call in one process up to the durable
// request in the queue, beside what a durable file costs here.
func BenchmarkCallToDrop(b *testing.B) {
	h := fakehost.New(b, nil)
	if err := os.Remove(filepath.Join(h.IPC, ipc.ResultsDir)); err != nil { // without receipts a call ends at the drop
		b.Fatal(err)
	}
	path := h.File("group/report.pdf", "%PDF-1.4 content")
	s := sender.New(sender.Config{IPC: h.IPC, Chat: "web:family", Wait: time.Second,
		Mounts: []sender.Mount{{Path: "/workspace/group", Local: filepath.Join(h.Root, "group")}}})
	c, err := client.NewInProcessClient(tools.Server(s, "bench"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(b.Context(), mcp.InitializeRequest{}); err != nil {
		b.Fatal(err)
	}
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = "send_file", map[string]any{"file_path": path}
	var floor, ours []time.Duration
	for b.Loop() {
		began := time.Now()
		durableFile(b, filepath.Join(h.Root, "group"))
		floor = append(floor, time.Since(began))
		began = time.Now()
		result, err := c.CallTool(b.Context(), req)
		if err != nil || result.IsError {
			b.Fatal(result, err)
		}
		ours = append(ours, time.Since(began))
		h.Take(h.Next().ID)
	}
	p50, base := median(ours), median(floor)
	b.ReportMetric(float64(p50.Microseconds()), "p50-us")
	b.ReportMetric(float64(base.Microseconds()), "durable-us")
	b.ReportMetric(float64(p50)/float64(base), "x-durable")
}

// durableFile writes a file as large as a request, renames it and syncs both
// it and its directory.
func durableFile(b *testing.B, dir string) {
	f, err := os.CreateTemp(dir, ".floor-*")
	if err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"type": "file", "filePath": strings.Repeat("x", 150)})
	if err != nil {
		b.Fatal(err)
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	f.Close()
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, "floor.json"))
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
}

func helloWorld(b *testing.B) string {
	dir := b.TempDir()
	source := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "hello")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
