//go:build e2e

package page

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestMembersSeeAndRunTheChatsTasks: the button is there once the assistant has scheduled
// something in this chat, and each of its verbs does what it says.
func TestMembersSeeAndRunTheChatsTasks(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	schedule := func(folder, name, prompt string) {
		got := stage.AskHost(t, h.Layout, folder, ipc.Request{Type: ipc.TypeScheduleTask, Prompt: prompt, ScheduleType: "cron", ScheduleValue: "0 9 1 1 *", Name: name})
		if got.Status != ipc.Done {
			t.Fatalf("%+v", got)
		}
	}
	schedule("main", "secret", "not of this chat")
	tab := browsertest.Start(t).Open(h.Base+"/c/family", browsertest.Screen{Width: 360, Height: 740, Phone: true})
	tab.Wait(`document.getElementById("state").textContent.startsWith("with ")`)
	tab.Eval(`document.getElementById("tasks").hidden || (() => { throw new Error("a button without tasks") })()`, nil)
	schedule("family", "plants <b>", "water the plants")
	h.Say("family", "hello") // its answer has the page look
	tab.Wait(`!document.getElementById("tasks").hidden`)
	tab.Eval(`document.getElementById("tasks").click()`, nil)
	const list = `document.getElementById("tasklist").textContent`
	tab.Wait(list + `.includes("plants <b>") && ` + list + `.includes("1 Jan") && !` + list + `.includes("secret")`)
	press := func(verb string) {
		tab.Wait(`[...document.querySelectorAll("#tasklist button")].some((b) => b.textContent === "` + verb + `" && !b.disabled)`)
		tab.Eval(`[...document.querySelectorAll("#tasklist button")].find((b) => b.textContent === "`+verb+`").click()`, nil)
	}
	note := func(words string) {
		tab.Wait(`document.getElementById("tasknote").textContent.includes("` + words + `")`)
	}
	press("Pause")
	note("Paused")
	tab.Wait(list + `.includes("paused")`)
	press("Resume")
	note("Resumed")
	press("Run now")
	note("Began a run")
	tab.Shot("tasks.png")
	h.Until("the task's answer is in the chat", func() bool {
		return strings.Contains(strings.Join(h.Texts("family"), "\n"), "water the plants")
	})
	press("Cancel")
	note("Cancelled")
	tab.Wait(`document.querySelectorAll("#tasklist li").length === 0`)
	tab.Eval(`document.querySelector("#taskdialog .actions button").click()`, nil)
	tab.Wait(`document.getElementById("tasks").hidden`)
}
