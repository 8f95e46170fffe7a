package channeltest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Harness joins a channel to the suite: it makes the channel, and it is the
// members on the other side of the platform. The functions fail t themselves
// when they cannot do their part. New is called once a story; the others speak
// of the channel that it made last, and stories run one after another.
type Harness struct {
	// New makes a channel, not running, with an empty platform. It cleans up
	// with t.Cleanup.
	New func(t testing.TB) channel.Channel

	Chat    groups.JID // a chat with a member
	Other   groups.JID // another one
	Unknown groups.JID // has the channel's form, and is no chat of the account

	// Received waits until the members of chat see at least n messages of the
	// channel and returns all that they see, in order, downloads included.
	Received func(t testing.TB, chat groups.JID, n int) []Seen

	// Now is how the members of chat see one message at this moment; Gone if they see
	// nothing of it, or that it was removed. Nil: the stories of changes are left out.
	Now func(t testing.TB, chat groups.JID, id string) Seen

	// Say lets a member write into chat.
	Say func(t testing.TB, chat groups.JID, s Said)

	// Act lets a member do in chat what is no message: in.Kind is one of Acts, with
	// what that kind carries. Nil: those stories are left out.
	Act  func(t testing.TB, chat groups.JID, in channel.Inbound)
	Acts []channel.Kind

	// Share lets a member send into chat what s.Case says.
	Share func(t testing.TB, chat groups.JID, s Shared)

	// Lacks has a reason for each Case that the platform does not have. A Case that the
	// channel only leaves out does not belong here.
	Lacks map[Case]string

	// Stranger lets somebody who is not in chat choose in the question with that platform
	// id, twice, and react to it, in each way that the platform lets through. Needed by a
	// channel with polls or reactions.
	Stranger func(t testing.TB, chat groups.JID, id, choice string)

	// Expire makes the platform forget the files that members have sent. Nil:
	// that story is left out.
	Expire func(t testing.TB)

	// Untouched fails if the channel that was made last has made files or takes
	// an address, before it is opened or run. Nil: it has neither.
	Untouched func(t testing.TB)

	// Ready waits until a running channel is connected. Nil: the suite asks
	// channel.Status, or, where that is missing, takes a running channel for
	// connected.
	Ready func(t testing.TB, c channel.Channel)

	// Restart makes a channel with the state and the platform of the last
	// one, whose Run has returned. Nil: the stories of restarts are left out.
	Restart func(t testing.TB) channel.Channel

	// Stall makes the platform leave the next Send without an answer until
	// the test ends, and returns a channel that is closed when that Send has
	// reached it. Nil: that story is left out.
	Stall func(t testing.TB) (reached <-chan struct{})

	// Mark lets a member's device report that it has shown or read the message
	// with that platform id. Nil: that story is left out.
	Mark func(t testing.TB, chat groups.JID, id string, state channel.State)

	// Settle makes the platform show what it has taken and not shown: what got a
	// Pending receipt. Nil: the platform does so by itself.
	Settle func(t testing.TB)

	// Thread begins a thread in chat and returns its id. Needed if Limits.Threads.
	Thread func(t testing.TB, chat groups.JID) string

	Leaks []goleak.Option // goroutines of the platform's side that may outlive Run
}

// Run holds a channel against everything that package channel promises of it.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, s := range stories() {
		if s.needs != nil && !s.needs(h) {
			continue
		}
		t.Run(s.name, func(t *testing.T) { s.tell(t, h) })
	}
}

// story is one test of the suite. It takes testing.TB so that the suite's own
// test can watch it fail.
type story struct {
	name  string
	tell  func(t testing.TB, h Harness)
	needs func(h Harness) bool // nil: no more than every harness has
}

func stories() []story {
	canRestart := func(h Harness) bool { return h.Restart != nil }
	canLook := func(h Harness) bool { return h.Now != nil }
	return append([]story{
		{name: "it says what it is", tell: saysWhatItIs},
		{name: "a text arrives", tell: textArrives},
		{name: "the longest text arrives whole", tell: longestTextArrives},
		{name: "a file arrives byte for byte", tell: fileArrives},
		{name: "names survive", tell: namesSurvive},
		{name: "an answer points at its question", tell: answerPoints},
		{name: "several files arrive in one message", tell: albumArrives},
		{name: "a message goes to its thread", tell: threadArrives},
		{name: "what exceeds the limits is refused for good", tell: limitsHold},
		{name: "the same id shows once", tell: sameIDShowsOnce},
		{name: "the same id at once shows once", tell: sameIDAtOnce},
		{name: "the same id shows once after a restart", tell: sameIDAfterRestart, needs: canRestart},
		{name: "messages keep their order", tell: keepOrder},
		{name: "chats are served at once", tell: chatsAtOnce},
		{name: "messages sent together keep their order and show once", tell: togetherInOrder},
		{name: "one that is refused holds up none of those sent together", tell: togetherRefused},
		{name: "nothing overtakes a message that fails among others", tell: togetherBroken},
		{name: "messages sent together under a cancelled context do not show", tell: togetherCancelled},
		{name: "an edit made twice shows once", tell: editShowsOnce, needs: canLook},
		{name: "a reaction replaces the one before", tell: reactionReplaces, needs: canLook},
		{name: "what is unsent is gone", tell: unsentIsGone, needs: canLook},
		{name: "an unknown chat is refused for good", tell: unknownChat},
		{name: "a file that cannot be read shows nothing", tell: unreadableFile},
		{name: "a cancelled send returns", tell: cancelled},
		{name: "a send without an answer returns when cancelled", tell: stalled, needs: func(h Harness) bool { return h.Stall != nil }},
		{name: "four sends without an answer hold up no other chat", tell: fourSlow, needs: func(h Harness) bool { return h.Stall != nil }},
		{name: "a send after the end fails for the time being", tell: afterTheEnd},
		{name: "a send works again after a restart", tell: worksAfterRestart, needs: canRestart},
		{name: "what a member writes comes in", tell: memberWrites},
		{name: "what a member attaches comes in byte for byte", tell: memberAttaches},
		{name: "what a member does comes in once", tell: memberActs, needs: func(h Harness) bool { return h.Act != nil }},
		{name: "what a stranger does counts for nothing", tell: strangerDoesNotCount},
		{name: "what comes in comes once over a restart", tell: onceOverRestart, needs: canRestart},
		{name: "what was not kept comes in again", tell: notKept, needs: canRestart},
		{name: "a file is fetched by a later process", tell: fetchedLater, needs: canRestart},
		{name: "an expired file is refused for good", tell: expired, needs: func(h Harness) bool { return h.Expire != nil }},
		{name: "a channel that is made and not run leaves nothing", tell: madeAlone},
		{name: "a channel runs once", tell: runsOnce},
		{name: "what a member's device reports comes in", tell: deviceReports, needs: func(h Harness) bool { return h.Mark != nil }},
		{name: "the names of members' files survive", tell: memberNamesSurvive},
	}, sharedStories()...)
}
