package bridge_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/screen/screentest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// leavesOut are settings of a trail that keeps all files.
type leavesOut []string

func (leavesOut) AuditKeeps() time.Duration  { return 0 }
func (l leavesOut) AuditLeavesOut() []string { return l }

// noted has the site note refused requests in a trail, and returns what the newest entry
// says of chat, code and parts, and all that stands in the trail.
func (s *site) noted(leaveOut []string) (newest func() string, whole func() string) {
	s.t.Helper()
	dir := s.t.TempDir()
	log, err := audit.Open(audit.Options{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Settings: leavesOut(leaveOut),
	})
	check(s.t, err)
	s.t.Cleanup(func() { check(s.t, log.Close()) })
	s.refused = func(q spool.Quarantined, it *spool.Item) { report.Refused(log, q, it) }
	newest = func() string {
		all, err := audit.Newest(s.t.Context(), audit.Files(dir), audit.Query{}, 1)
		check(s.t, err)
		if len(all) != 1 {
			s.t.Fatal("the trail has no entry")
		}
		e := all[0]
		words := []string{e.Event, e.Code, strings.TrimLeft(e.Channel+" "+e.Chat, " ")}
		for _, p := range e.Parts {
			if p.Status != string(ipc.Refused) {
				s.t.Errorf("%+v", p)
			}
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %d %.8s %s", p.Kind, p.Name, p.Bytes, p.SHA256, p.Text)))
		}
		return strings.Join(words, "; ")
	}
	whole = func() string {
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		check(s.t, err)
		b, err := os.ReadFile(files[0])
		check(s.t, err)
		return string(b)
	}
	return newest, whole
}

// TestARefusalInTheTrailNamedNeitherChatNorFile: it had the group, the code and the message.
func TestARefusalInTheTrailNamedNeitherChatNorFile(t *testing.T) {
	const number = "4917012345678@s.whatsapp.net"
	s := newSite(t)
	newest, whole := s.noted([]string{audit.Captions, audit.Numbers})
	key := screentest.Secrets()["b.txt"]
	secret, plain := file(s.write("family", "deploy.txt", key)), file(s.write("family", "plan.txt", "as drawn"))
	secret.Files[0].Caption = "secret words"
	both := plain
	both.Files = append(both.Files[:1:1], secret.Files...)
	foreign, named := plain, plain
	foreign.Chat = number
	named.Chat = strings.Repeat("x", 90) + " " + number
	missing := file("/workspace/group/nothing/rep\u202eort.pdf")
	missing.Chat, missing.Files[0].Caption = "mem:family", "secret words"
	for _, c := range []struct {
		request ipc.Request
		want    string
	}{
		{secret, fmt.Sprintf("refused; screened; memory mem:family; document deploy.txt %d %.8s", len(key), sum(key))},
		{both, fmt.Sprintf("refused; screened; memory mem:family; document plan.txt 8 %.8s; document deploy.txt %d %.8s", sum("as drawn"), len(key), sum(key))},
		{foreign, "refused; chat_not_allowed; ~MASKED@s.whatsapp.net; file plan.txt 0"},
		{named, "refused; bad_jid; " + strings.Repeat("x", 90) + " ~MASKED…; file plan.txt 0"},
		{missing, "refused; file_missing; memory mem:family; file report.pdf 0"},
		{ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "secret words"}, "refused; chat_not_allowed; mem:work; text  12"},
		{ipc.Request{Type: ipc.TypeListTasks}, "refused; not_supported; memory mem:family; list_tasks  0"},
	} {
		if f := s.handle("family", c.request)[0]; f.Refusal == nil {
			t.Fatalf("not refused: %+v", c.request)
		}
		got := regexp.MustCompile(`~[0-9a-f]+`).ReplaceAllString(newest(), "~MASKED")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
	if text := whole(); strings.Contains(text, "49170") || strings.Contains(text, "secret words") || strings.Contains(text, "BEGIN") {
		t.Errorf("the trail has what it does without:\n%s", text)
	}
}

// TestARefusalByPolicyInTheTrailHasTheSize, which was measured, and no names or captions
// against the operator's wish.
func TestARefusalByPolicyInTheTrailHasTheSize(t *testing.T) {
	s, o := newSite(t), groups.MaySend{Most: 4}
	s.set.registry = policed(t, s.set.registry, "family", o)
	r := file(s.write("family", "plan.txt", "as drawn"))
	r.Files[0].Caption = "words"
	for _, c := range []struct {
		leaveOut []string
		want     string
	}{
		{[]string{}, "document plan.txt 8  words"},
		{[]string{audit.Names, audit.Captions}, "document  8"},
	} {
		newest, whole := s.noted(c.leaveOut)
		s.handle("family", r)
		if diff := cmp.Diff("refused; size_not_allowed; memory mem:family; "+c.want, newest()); diff != "" {
			t.Error(diff)
		}
		if named := strings.Contains(whole(), "plan.txt"); named != (len(c.leaveOut) == 0) {
			t.Errorf("without %q the trail has the name: %v", c.leaveOut, named)
		}
	}
}
