//go:build e2e

package engines

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

// actor is a model that shows progress in one message, reacts to what it was asked,
// and takes a slip back.
func actor(r modeltest.Request) modeltest.Answer {
	id := func(n int) string {
		found := regexp.MustCompile(`Message id ([^\s".]+)`).FindStringSubmatch(r.Results[n])
		if found == nil {
			return "none"
		}
		return found[1]
	}
	switch len(r.Results) {
	case 0:
		return modeltest.Answer{Call: "send_message", Args: map[string]any{"text": "half of it"}}
	case 1:
		return modeltest.Answer{Call: "edit_message", Args: map[string]any{"message_id": id(0), "text": "all of it"}}
	case 2:
		asked := regexp.MustCompile(`<message id="([^"]+)"`).FindStringSubmatch(r.Prompt)
		if asked == nil {
			return modeltest.Answer{Text: "no id in " + r.Prompt}
		}
		return modeltest.Answer{Call: "react", Args: map[string]any{"message_id": asked[1], "emoji": "👍"}}
	case 3:
		return modeltest.Answer{Call: "send_message", Args: map[string]any{"text": "a slip"}}
	case 4:
		return modeltest.Answer{Call: "unsend", Args: map[string]any{"message_id": id(3)}}
	case 5:
		return modeltest.Answer{Call: "edit_message", Args: map[string]any{"message_id": "nobody-sent-this", "text": "x"}}
	}
	return modeltest.Answer{Text: strings.Join(r.Results, "\n")}
}

// TestAssistantChangesItsMessagesInTheChat is Claude Code with the tools of a page's
// chat, from the model to the page.
func TestAssistantChangesItsMessagesInTheChat(t *testing.T) {
	model := modeltest.New(t, actor)
	h := newProcess(t, append(model.Env(), "LONGSHORE_RIGHTS=full", "LONGSHORE_AGENT_PROGRAM="+modeltest.Install(t, "claude")))
	opened := h.open()
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.say(m, "all of it, please")
	var edited, reacted, removed bool
	answer, texts := "", ""
	stage.Eventually(t, "the answer is there", func() bool {
		var page struct{ Messages []history.Message }
		if err := m.Call(t.Context(), "GET", m.Messages(), nil, &page); err != nil {
			t.Fatal(err)
		}
		texts = ""
		for _, msg := range page.Messages {
			edited = edited || msg.Text == "all of it" && msg.Edited
			reacted = reacted || !msg.Assistant && len(msg.Reactions) == 1
			removed = removed || msg.Removed
			texts += msg.Text + "\n"
			if strings.Contains(msg.Text, "Message id") || strings.Contains(msg.Text, "no id in") {
				answer = msg.Text
			}
		}
		return answer != ""
	})
	if strings.Contains(texts, "half of it") || strings.Contains(texts, "a slip\n") {
		t.Errorf("the page still shows what was changed: %q", texts)
	}
	if !edited || !reacted || !removed || !strings.Contains(answer, "Not sent: ") {
		log, _ := os.ReadFile(filepath.Join(opened.Layout.Logs(), "g0", "assistant.log"))
		t.Errorf("edited %v, reacted %v, removed %v: %s\nthe assistant's log:\n%s", edited, reacted, removed, answer, log)
	}
}

// TestScheduledTaskComesBackToTheChat, and is listed and cancelled.
func TestScheduledTaskComesBackToTheChat(t *testing.T) {
	schedule := func(kind, value string) modeltest.Answer {
		return modeltest.Answer{Call: "schedule_task", Args: map[string]any{"prompt": "the tide table", "schedule_type": kind, "schedule_value": value}}
	}
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		switch n := len(r.Results); {
		case strings.Contains(r.Prompt, "[SCHEDULED TASK"):
			return modeltest.Answer{Text: "The tide table."}
		case n == 0:
			return schedule("cron", "0 9 * * 1-5")
		case n == 1:
			return modeltest.Answer{Call: "list_tasks"}
		case n == 2:
			return modeltest.Answer{Call: "cancel_task", Args: map[string]any{"task_id": regexp.MustCompile(`task-[0-9a-f]+`).FindString(r.Results[0])}}
		case n == 3:
			return schedule("cron", "61 * * * *")
		case n == 4:
			return schedule("once", time.Now().Add(3*time.Second).UTC().Format("2006-01-02T15:04:05Z"))
		}
		return modeltest.Answer{Text: strings.Join(r.Results, "\n")}
	})
	h := newProcess(t, append(model.Env(), "LONGSHORE_RIGHTS=full", "LONGSHORE_AGENT_PROGRAM="+modeltest.Install(t, "claude")))
	opened := h.open()
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.say(m, "the tide table every working day, please")
	answers := ""
	stage.Eventually(t, "the task has run", func() bool {
		var page struct{ Messages []history.Message }
		if err := m.Call(t.Context(), "GET", m.Messages(), nil, &page); err != nil {
			t.Fatal(err)
		}
		answers = ""
		for _, msg := range page.Messages {
			if msg.Assistant {
				answers += msg.Text + "\n"
			}
		}
		return strings.Contains(answers, "The tide table.")
	})
	for _, want := range []string{"Scheduled the task", "09:00", "1 task:", "Cancelled the task", "Not sent: "} {
		if !strings.Contains(answers, want) {
			t.Errorf("%q is not in %s", want, answers)
		}
	}
}
