package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed schedule_task.md
var scheduleTaskText string

// ScheduleTaskArgs are the parameters of schedule_task, with NanoClaw v1's names.
type ScheduleTaskArgs struct {
	Prompt  string `json:"prompt"`
	Type    string `json:"schedule_type" jsonschema:"enum=cron,enum=interval,enum=once"`
	Value   string `json:"schedule_value" jsonschema_description:"cron: five fields, such as 0 9 * * 1-5. interval: milliseconds between runs. once: local time, such as 2026-02-01T15:30:00."`
	Zone    string `json:"timezone,omitempty" jsonschema_description:"Default: the group's."`
	Context string `json:"context_mode,omitempty" jsonschema:"enum=group,enum=isolated" jsonschema_description:"group (default): with this chat's conversation; isolated: a new one each time."`
	Name    string `json:"name,omitempty"`
	Target  string `json:"target_group_jid,omitempty" jsonschema_description:"Chat to run it for, if not yours."`
}

// inZone puts a zone before the value of a schedule, as cron programs write it.
func inZone(value, zone string) (string, error) {
	switch zone = strings.TrimSpace(zone); {
	case zone == "":
		return value, nil
	case value == "" || strings.ContainsAny(zone, " \t\r\n"):
		return "", &sender.Problem{Code: "invalid_argument", Message: "timezone is no time zone, or there is no schedule_value with it", Hint: "give schedule_value too, and a zone such as Europe/Berlin"}
	}
	return "CRON_TZ=" + zone + " " + value, nil
}

func (k kit) scheduleTask() server.ServerTool {
	t := k.tool("schedule_task", "Schedule a prompt", scheduleTaskText, sends)
	return handle(k, t, func(ctx context.Context, a ScheduleTaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		value, err := inZone(a.Value, a.Zone)
		if err != nil {
			return nil, err
		}
		return reported(k.sender.Call(ctx, actionOf("schedule_task"), ipc.Request{Type: ipc.TypeScheduleTask, Prompt: a.Prompt, ScheduleType: a.Type,
			ScheduleValue: value, ContextMode: a.Context, Name: a.Name, TargetJID: a.Target}))
	})
}
