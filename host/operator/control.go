package operator

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Control is what an operator may do to a host: *Client through the running host's socket,
// *Local in the host's own process, *Offline if no host runs. A repeated Retry or Drop changes
// nothing and returns an error that says so, such as not_found or not_failed. All methods may
// be called concurrently.
// Errors that the operator can act on are *refusal.Error, with the codes below.
type Control interface {
	// Status describes the host.
	Status(ctx context.Context) (Status, error)
	// List returns the matching items, oldest first, without Parts and Raw.
	List(ctx context.Context, f Filter) ([]Item, error)
	// Show returns one item with all details. The id of a delivery may be
	// shortened to an unambiguous beginning of at least four characters.
	Show(ctx context.Context, id string) (Item, error)
	// Retry tries a failed item again: a delivery is queued again with the same
	// message ids, a request goes back to its group's queue.
	Retry(ctx context.Context, id string) error
	// Drop ends an item: an open delivery is cancelled, a failed one leaves the
	// list of failures, and a request in the errors folder is deleted.
	Drop(ctx context.Context, id string) error
	// Decide approves or refuses a delivery that waits for an approval. The first answer
	// counts.
	Decide(ctx context.Context, id string, yes bool) error
	// Send accepts a file for a group's chat as if the group's assistant had
	// sent it.
	Send(ctx context.Context, s Send) (Item, error)
	// Chats returns the chats that a channel's account is in, from the
	// platform.
	Chats(ctx context.Context, channelName string) ([]channel.Chat, error)
	// Reload has the host read longshore.yaml again and apply it, whole or not
	// at all. That the file was refused is no error.
	// With remove, the file may end all groups, or most of them.
	Reload(ctx context.Context, remove bool) (Reloaded, error)
	// PairingCodes returns the valid pairing codes of direct chats without a group.
	PairingCodes(ctx context.Context) ([]PairingCode, error)
	// ApprovePairing ends the code of a chat that has a group now, and writes so in the chat.
	ApprovePairing(ctx context.Context, code string) error
	// Tasks returns the scheduled tasks of a group by its folder, or of all.
	Tasks(ctx context.Context, group string) ([]tasks.Task, error)
	// OperateTask does something with a task, see [tasks.Tasks.Operate], and says
	// what it did.
	OperateTask(ctx context.Context, id, verb string) (tasks.Answer, error)
	// Links returns the links of a group by its folder, or of all, that can be followed.
	Links(ctx context.Context, group string) ([]Link, error)
	// RevokeLink deletes a link and its file.
	RevokeLink(ctx context.Context, id string) error
	// Findings returns what the parts of the host know of themselves. deep: also what takes
	// longer to find out, by asking platforms, engine and machines.
	Findings(ctx context.Context, deep bool) ([]finding.Finding, error)
	// StopAssistant ends the turns that the assistants of the group with that folder are
	// in, and drops the messages that wait, as a member's /stop for the whole chat does.
	StopAssistant(ctx context.Context, folder string) (Stopped, error)
	// Link begins to link a channel to an account by a code, or says how far that has
	// come. It ends 15 seconds after the last call.
	Link(ctx context.Context, channelName string) (Linking, error)
	// PageURL returns an address that signs one browser in to the operator's page, once
	// and within minutes. The error's code is CodePageOff if the host serves no page.
	PageURL(ctx context.Context) (PageURL, error)
	// Log returns the newest lines of the host's log that match, oldest first. To
	// follow the log, ask again with After set to the page's Next.
	Log(ctx context.Context, q LogQuery) (LogPage, error)
	// Audit returns the newest entries of the audit trail that match, oldest first.
	Audit(ctx context.Context, q AuditQuery) (AuditPage, error)
	// NotifyTest sends a test to each target of notify: in longshore.yaml, of which there may
	// be none, and returns the outcomes.
	NotifyTest(ctx context.Context) ([]Notified, error)
	// Tokens returns the valid tokens for assistants elsewhere, without their secrets.
	Tokens(ctx context.Context) ([]tokens.Token, error)
	// MakeToken makes a token and returns it with its secret, which is not stored.
	MakeToken(ctx context.Context, o TokenOrder) (tokens.NewToken, error)
	// RevokeToken deletes a token.
	RevokeToken(ctx context.Context, id string) error
	// Unpair unlinks a channel from its account. Its deliveries are held.
	Unpair(ctx context.Context, channelName string) error
}

var _ = []Control{(*Client)(nil), (*Local)(nil), (*Offline)(nil)}
