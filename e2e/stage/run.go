package stage

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
)

// Write writes a file that only its owner reads.
func Write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Command runs one command line and returns all that it printed.
func Command(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var b bytes.Buffer
	code = program.Run(t.Context(), "", AllPlatforms(), args, strings.NewReader(""), &b, &b)
	return b.String(), code
}

// RunLine runs a command line in this process.
func RunLine(t *testing.T, file string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = program.Run(t.Context(), "", AllPlatforms(), append([]string{"-c", file}, args...), strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// AskHost makes a call as an assistant's tool does, and waits for its answer.
func AskHost(t testing.TB, l groups.Layout, folder string, r ipc.Request) ipc.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	client := ipc.NewClient(l.IPC(folder, ""))
	id, err := client.Enqueue(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Wait(ctx, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
