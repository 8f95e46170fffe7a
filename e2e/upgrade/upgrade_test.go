package upgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestAnInstallationOfTheFirstReleaseIsOpenedWhole starts this program on what a
// host of the first release left when it was killed: deliveries in all states,
// requests, members' messages, the page's history and a linked WhatsApp account.
func TestAnInstallationOfTheFirstReleaseIsOpenedWhole(t *testing.T) {
	t.Parallel()
	dir, expected, by := opened(t, "real")
	h := upgradedHarbour(t, dir)
	u := &upgrade{Harbour: h, expected: expected, deliveries: listsAreTheSame(t, h.Command, expected, by)}
	readJSON(t, filepath.Join(expected, "history.json"), &u.history)

	host := h.Serve()
	u.page = u.servedPage()
	u.waitingIsSent()
	u.nobodySeesAnythingTwice()
	u.membersAreAnswered()
	u.failedCanBeRetried()
	before := u.all()
	host.Stop()

	host = h.Serve()
	u.page = u.servedPage()
	u.probe("again")
	for chat, n := range u.all() {
		if want := before[chat] + 1; n != want { // the probe
			t.Errorf("after another start %s has %d messages, want %d", chat, n, want)
		}
	}
	host.Stop()
}

// upgradedHarbour is a WhatsApp that knows the account's device from before, in
// which Anna has a new phone.
func upgradedHarbour(t *testing.T, dir string) *stage.Harbour {
	t.Helper()
	stage.TrustWhatsApp(t)
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true})
	t.Cleanup(srv.Close)
	h := &stage.Harbour{T: t, Srv: srv, Phone: srv.AddPhone(stage.OurNumber, "Harbour office"), Dir: dir}
	h.Phone.Adopt(deviceOf(t))
	h.Anna = srv.NewMember(t, stage.AnnaNumber, "Anna")
	for _, name := range []string{"Crew", "Pier", "Dock", "Slip"} {
		srv.AddGroup(whatsapptest.Group{Subject: name, Members: []string{stage.AnnaNumber, stage.OurNumber}})
	}
	uploads, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "uploads/*"))
	if err != nil || len(uploads) == 0 {
		t.Fatalf("uploads %v, %v", uploads, err)
	}
	for _, path := range uploads {
		b, err := os.ReadFile(path)
		if err == nil {
			err = srv.Offer(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// upgrade is the installation with what it was before.
type upgrade struct {
	*stage.Harbour
	expected   string
	history    map[string][]map[string]any // of the page's chats
	deliveries deliveries                  // as they were
	page       stage.ChatPage
}

// servedPage waits for the host to serve the page, and finds out where.
func (u *upgrade) servedPage() stage.ChatPage {
	u.T.Helper()
	address := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
	var base string
	stage.Await(u.T, "the page's address in the status", func() bool {
		base = address.FindString(u.Run("status", "--json"))
		return base != ""
	})
	return stage.ChatPage{T: u.T, Base: base}
}

func (u *upgrade) client(folder string) *ipc.Client {
	return ipc.NewClient(filepath.Join(u.Dir, "state/ipc", folder))
}

// ends waits for the end of a request, which is to be a good one.
func (u *upgrade) ends(folder, id string) {
	u.T.Helper()
	r, err := u.client(folder).Wait(stage.Soon(u.T), id, nil)
	if err != nil || r.Status != ipc.Sent && r.Status != ipc.Delivered && r.Status != ipc.Read {
		u.T.Errorf("%s of %s ended as %q (%s), %v", id, folder, r.Status, r.Message, err)
	}
}

var upgradedFolders = []string{"office", "family", "garden", "attic", "crew", "pier", "dock", "slip"}

// probe sends a text to each chat. When it is there, so is all that was before it.
func (u *upgrade) probe(text string) {
	u.T.Helper()
	for _, folder := range upgradedFolders {
		id, err := u.client(folder).Enqueue(u.T.Context(), ipc.Request{Type: ipc.TypeMessage, Text: text})
		if err != nil {
			u.T.Fatal(err)
		}
		u.ends(folder, id)
	}
}

// waitingIsSent waits for all that had been accepted or asked for.
func (u *upgrade) waitingIsSent() {
	u.T.Helper()
	for folder, ids := range map[string][]string{
		"office": {"4-first", "5-second", "7-waits"}, "family": {"2-recorded"}, "crew": {"3-acked", "4-behind"}, "pier": {"1-unanswered"},
	} {
		for _, id := range ids {
			u.ends(folder, id)
			if _, err := os.Stat(filepath.Join(u.Dir, "state/ipc", folder, "messages", id+".json")); !os.IsNotExist(err) {
				u.T.Errorf("the request %s is in the queue still: %v", id, err)
			}
		}
	}
	u.probe("all there?")
	if out := strings.TrimSpace(u.Run("queue", "list", "--json")); out != "[]" {
		u.T.Errorf("still open:\n%s", out)
	}
}

// since are the texts and files that a chat of the page has beyond its history,
// which is to be as it was.
func (u *upgrade) since(chat string) (lines []string) {
	u.T.Helper()
	old := u.history[chat]
	messages := u.page.Messages(chat)
	if len(messages) < len(old) {
		u.T.Fatalf("%s has %d messages, and had %d", chat, len(messages), len(old))
	}
	for i, m := range messages {
		line := m.Text
		if m.File != nil {
			line = m.File.Name
			if sum := sha256.Sum256(u.page.Get(m.File.URL)); hex.EncodeToString(sum[:]) != m.File.SHA256 {
				u.T.Errorf("%s of %s has other bytes", line, chat)
			}
		}
		if i < len(old) {
			if m.ID != old[i]["id"] || m.Text != old[i]["text"] || m.Assistant != old[i]["assistant"] {
				u.T.Errorf("message %d of %s is %+v, was %v", i, chat, m, old[i])
			}
			if was, ok := old[i]["file"].(map[string]any); ok && (m.File == nil || m.File.SHA256 != was["sha256"] || m.File.Name != was["name"] || m.File.URL != was["url"]) {
				u.T.Errorf("the file of message %d of %s is %+v, was %v", i, chat, m.File, was)
			}
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// answers are those of the lines that an echo of prompts made, and rest the others.
func answers(lines []string) (echoes, rest []string) {
	for _, l := range lines {
		if strings.Contains(l, "<message") {
			echoes = append(echoes, l)
		} else {
			rest = append(rest, l)
		}
	}
	return echoes, rest
}

// nobodySeesAnythingTwice looks at the chats with the members' eyes.
func (u *upgrade) nobodySeesAnythingTwice() {
	u.T.Helper()
	_, office := answers(u.since("office"))
	want := []string{"First of those that wait.", "three.txt", "four.txt", "notice.txt", "five.txt", "all there?"}
	if diff := cmp.Diff(want, office); diff != "" {
		u.T.Errorf("the office (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"all there?"}, u.since("family")); diff != "" {
		u.T.Errorf("the family (-want +got):\n%s", diff)
	}

	var before struct {
		Relayed []struct {
			Chat, ID string
			Ours     bool
		}
	}
	readJSON(u.T, filepath.Join(u.expected, "whatsapp.json"), &before)
	handed := map[string]string{} // by the host before, the last one of each chat
	for _, r := range before.Relayed {
		if r.Ours {
			handed[r.Chat] = r.ID
		}
	}
	acked := u.shownNow("3-acked")
	if id := acked.Parts[0].PlatformID; id != handed[u.group(1)] {
		u.T.Errorf("what WhatsApp had acknowledged has the id %q, and had %q", id, handed[u.group(1)])
	}
	if id := u.shownNow("1-unanswered").Parts[0].PlatformID; id != handed[u.group(2)] {
		u.T.Errorf("what WhatsApp had not acknowledged went out again as %q, and was %q", id, handed[u.group(2)])
	}
	if diff := cmp.Diff([]string{"media", "text"}, u.relayed(1)); diff != "" { // behind it, the probe
		u.T.Errorf("to the crew (-want +got):\n%s", diff)
	}
	if n := len(u.Srv.Uploads()); n != 1 {
		u.T.Errorf("%d files were uploaded: one waited, and another was there already", n)
	}
	u.annaHas("4-behind")
	u.annaHas("1-unanswered")
}

func (u *upgrade) group(n int) string { return fmt.Sprintf("120363%012d@g.us", n) }

// relayed are the types of what the host has handed to WhatsApp for a group. No
// message is handed over twice.
func (u *upgrade) relayed(group int) (all []string) {
	u.T.Helper()
	chat, err := types.ParseJID(u.group(group))
	if err != nil {
		u.T.Fatal(err)
	}
	for _, r := range u.Srv.Relayed(chat) {
		if r.Sender.User != stage.OurNumber {
			continue
		}
		if r.Times != 1 {
			u.T.Errorf("%+v was handed over %d times", r, r.Times)
		}
		all = append(all, r.Type)
	}
	return all
}

// shownNow is a delivery as the operator sees it now.
func (u *upgrade) shownNow(request string) (d deliveryShown) {
	u.T.Helper()
	if err := json.Unmarshal([]byte(u.Run("queue", "show", u.deliveries.of(u.T, request).ID, "--json")), &d); err != nil {
		u.T.Fatal(err)
	}
	return d
}

// annaHas waits until Anna has the bytes that were accepted with a request.
func (u *upgrade) annaHas(request string) {
	u.T.Helper()
	want := u.deliveries.of(u.T, request).Parts[0]
	for _, m := range u.Anna.Messages() {
		if u.isFile(m, want.SHA256) {
			return
		}
	}
	for {
		m, err := u.Anna.Next(stage.Soon(u.T))
		if err != nil {
			u.T.Fatalf("Anna has no %s: %v", want.Name, err)
		}
		if u.isFile(m, want.SHA256) {
			return
		}
	}
}

func (u *upgrade) isFile(m *events.Message, sum string) bool {
	u.T.Helper()
	if whatsapptest.Downloadable(m.Message) == nil {
		return false
	}
	got, err := u.Anna.Fetch(stage.Soon(u.T), m.Message)
	if err != nil {
		u.T.Fatal(err)
	}
	return got.SHA256 == sum
}

// membersAreAnswered looks for what members had written to the host before.
func (u *upgrade) membersAreAnswered() {
	u.T.Helper()
	u.answered("office", 1, "is anybody there", "question.txt")
	u.answered("garden", 1, "make the list", "and the other one")                      // the turn had sent nothing: it runs again
	if echoes, rest := answers(u.since("attic")); len(echoes) != 0 || len(rest) != 2 { // it had: the chat is told, before or after the probe
		u.T.Errorf("the attic sees %q and %q", echoes, rest)
	}
	u.page.Say("family", "@Andy who wrote")
	u.answered("family", 1, "nobody calls the assistant here", "list.txt", "@Andy who wrote")

	u.annaReads("what about the pier")
	if diff := cmp.Diff([]string{"media", "text", "text"}, sorted(u.relayed(2))); diff != "" {
		u.T.Errorf("to the pier (-want +got):\n%s", diff)
	}
	first := u.annaReads("knots.txt")
	stage.Await(u.T, "a member's file that was to be fetched", func() bool {
		b, err := os.ReadFile(filepath.Join(u.Dir, "state/groups/slip/inbox/knots.txt"))
		return err == nil && string(b) == strings.Repeat("over and under\n", 30)
	})
	if _, err := u.Anna.SendText(stage.Soon(u.T), types.NewJID(strings.TrimSuffix(u.group(4), "@g.us"), types.GroupServer), "it is me"); err != nil {
		u.T.Fatal(err)
	}
	known := regexp.MustCompile(`sender_id="([^"]+)"`)
	if again := u.annaReads("it is me"); known.FindString(first) == "" || known.FindString(first) != known.FindString(again) {
		u.T.Errorf("Anna was %q to the assistant and is %q", known.FindString(first), known.FindString(again))
	}
}

// answered waits for the page's chat to have answers, which hold each of the
// words once.
func (u *upgrade) answered(chat string, n int, words ...string) {
	u.T.Helper()
	var echoes []string
	stage.Await(u.T, "an answer in "+chat, func() bool {
		echoes, _ = answers(u.since(chat))
		return len(echoes) >= n
	})
	for _, w := range words {
		if strings.Count(strings.Join(echoes, "\n"), ">"+w) != 1 && strings.Count(strings.Join(echoes, "\n"), `/inbox/`+w+`"`) != 1 {
			u.T.Errorf("the answers in %s do not hold %q once: %q", chat, w, echoes)
		}
	}
	if len(echoes) != n {
		u.T.Errorf("%s has %d answers, want %d: %q", chat, len(echoes), n, echoes)
	}
}

// annaReads waits until Anna has a text with those words.
func (u *upgrade) annaReads(words string) string {
	u.T.Helper()
	for _, m := range u.Anna.Messages() {
		if text := whatsapptest.Text(m.Message); strings.Contains(text, words) {
			return text
		}
	}
	for {
		m, err := u.Anna.Next(stage.Soon(u.T))
		if err != nil {
			u.T.Fatalf("nobody told Anna %q: %v", words, err)
		}
		if text := whatsapptest.Text(m.Message); strings.Contains(text, words) {
			return text
		}
	}
}

// failedCanBeRetried has the operator act on what failed, and on the errors folder.
func (u *upgrade) failedCanBeRetried() {
	u.T.Helper()
	u.Run("errors", "retry", u.deliveries.of(u.T, "1-failed").ID)
	u.annaHas("1-failed")
	u.Run("errors", "drop", "office-3-broken")
	if out := u.Run("errors", "list", "--json"); strings.Contains(out, "3-broken") || !strings.Contains(out, "family-3-foreign") {
		u.T.Errorf("the errors are\n%s", out)
	}
}

// all counts what each chat has.
func (u *upgrade) all() map[string]int {
	u.T.Helper()
	n := map[string]int{}
	for chat := range u.history {
		n[chat] = len(u.page.Messages(chat))
	}
	for group := range 4 {
		n[u.group(group+1)] = len(u.relayed(group + 1))
	}
	return n
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
