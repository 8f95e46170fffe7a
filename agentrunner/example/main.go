// Command wordcount is a small assistant, written in Go, that lives outside Longshore. It fetches
// what members write in a chat, counts the words of each message and of the text files in
// it, and answers with a table as a file.
//
// It shows how a Go program embeds Longshore's tools: it makes the MCP server of
// `agentrunner mcp` within itself, and calls its tools. Here a few lines decide what to call.
// In your program a model does: give it the list of the tools, and pass on what it calls.
//
// Start it in a directory of its own, with the address of the host and a token of a
// group whose assistant has `runtime: remote`:
//
//	LONGSHORE_URL=http://127.0.0.1:8430 LONGSHORE_TOKEN=lsh_… go run .
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/ipc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		var problem *remoteclient.Problem // says what to do, too
		if errors.As(err, &problem) {
			log.Fatalf("%v; %s", err, problem.Hint)
		}
		log.Fatal(err)
	}
}

// assistant answers the members of one chat.
type assistant struct {
	host  *remoteclient.Client // to the host
	tools *client.Client       // to the tools, within this program
}

func run(ctx context.Context) error {
	config, err := sender.FromEnv(os.Getenv) // LONGSHORE_URL, LONGSHORE_TOKEN and HOME
	if err != nil {
		return err
	}
	if config.Remote == nil {
		return errors.New("set LONGSHORE_URL and LONGSHORE_TOKEN")
	}
	inside, err := client.NewInProcessClient(tools.Server(sender.New(config), "wordcount"))
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := inside.Start(ctx); err != nil {
		return err
	}
	if _, err := inside.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		return err
	}
	a := assistant{config.Remote, inside}
	list, err := a.tools.ListTools(ctx, mcp.ListToolsRequest{}) // for a model
	if err != nil {
		return err
	}
	log.Printf("%d tools; waiting for messages", len(list.Tools))
	for {
		in, err := a.host.Inbox(ctx, "", 45*time.Second)
		if err != nil {
			return err
		}
		for _, message := range in.Messages {
			if err := a.answer(ctx, message); err != nil {
				return err // the host offers the message again
			}
		}
	}
}

// answer answers a message and ends it. If this program is killed in between, it gets the
// message again. The key makes the second answer the same delivery as the first.
func (a assistant) answer(ctx context.Context, message ipc.Message) error {
	if message.Calls && message.Kind == "message" { // others are for the assistant to know
		table, err := a.count(ctx, message)
		if err != nil {
			return err
		}
		if err := os.WriteFile("words.csv", table, 0o600); err != nil {
			return err
		}
		err = a.call(ctx, "send_file", map[string]any{
			"file_path": "words.csv", "caption": "The words of your message", "reply_to": message.MessageID, "idempotency_key": "answer-" + message.ID,
		})
		if err != nil {
			return err
		}
	}
	_, err := a.host.Ack(ctx, message.ID, "")
	return err
}

// call calls a tool. An error that the tool tells is for the model, which reads what to do
// about it; this program has none, and stops.
func (a assistant) call(ctx context.Context, tool string, arguments map[string]any) error {
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = tool, arguments
	result, err := a.tools.CallTool(ctx, call)
	if err != nil {
		return err
	}
	told := mcp.GetTextFromContent(result.Content[0])
	if result.IsError {
		return errors.New(told)
	}
	log.Print(told)
	return nil
}

// maxFile is how large a file may be to be counted.
const maxFile = 1 << 20

// count makes a table of the words in a message and its text files. Texts, names and files
// are a member's: nothing here believes them.
func (a assistant) count(ctx context.Context, message ipc.Message) ([]byte, error) {
	rows := [][]string{{"what", "words"}, {"message", words(message.Text)}}
	for _, file := range message.Files {
		if file.Missing != "" || file.Size > maxFile || !strings.HasPrefix(file.MIME, "text/") {
			continue
		}
		var content bytes.Buffer
		if err := a.host.CopyFile(ctx, &content, message, file); err != nil {
			return nil, fmt.Errorf("fetch %q: %w", file.Name, err)
		}
		rows = append(rows, []string{file.Name, words(content.String())})
	}
	var table bytes.Buffer
	err := csv.NewWriter(&table).WriteAll(rows)
	return table.Bytes(), err
}

func words(text string) string { return strconv.Itoa(len(strings.Fields(text))) }
