package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

func newAudit(e *env) *cobra.Command {
	return terminal.Family("audit", "read the trail of what left the host and what was refused", newAuditVerify(e), newAuditSearch(e), newAuditExport(e))
}

// trailOf opens the audit trail, and returns where it is. The caller calls end.
func trailOf(ctx context.Context, c *config.Config) (trail audit.Trail, place string, end func() error, err error) {
	dir, kept := c.Layout().Audit(), serve.StateOf(c)
	if !kept.OnServer() {
		return audit.Files(dir), dir, func() error { return nil }, nil
	}
	view, err := store.Look(ctx, kept)
	if err != nil {
		return nil, "", nil, err
	}
	if view == nil {
		return audit.Files(dir), dir, func() error { return nil }, nil
	}
	return audit.Rows(view), "the table audit_entry", view.Close, nil
}

func newAuditVerify(e *env) *cobra.Command {
	var anchor, file string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "check that no line was changed, removed, inserted or moved",
		Long: `verify reads the whole trail and names the first line that is not as it was written. It
ends with the hash of the last line. Keep that hash where nobody on this machine can
change it: verify --has HASH then says whether the trail still holds it, that is,
whether all before it is as it was.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.load()
			if err != nil {
				return err
			}
			trail, place := audit.Exported(file), file
			if file == "" {
				var end func() error
				if trail, place, end, err = trailOf(cmd.Context(), c); err != nil {
					return err
				}
				defer end()
			}
			s, err := audit.Verify(cmd.Context(), trail, anchor)
			var broken *audit.Broken
			switch {
			case errors.As(err, &broken):
				f := doctor.TrailBroken(broken, place, s.Entries)
				return terminal.Hinted(errors.New(f.Cause), f.Remedy)
			case err != nil:
				return err
			case place == c.Layout().Audit() && audit.Gone(place, c.Layout().AuditMark()):
				f := doctor.TrailGone(place)
				return terminal.Hinted(errors.New(f.Cause), f.Remedy)
			case anchor != "" && !s.Found:
				return &terminal.Error{Code: terminal.ExitFault, Err: fmt.Errorf("the trail is whole, but no line of it has the hash %q", anchor),
					Hint: "either it is another trail than the one that you noted, or the line has become older than audit.keep"}
			}
			return e.Answer(s, func() error { return e.printTrail(s) })
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "check what export has written to this `file`, not the trail itself")
	cmd.Flags().StringVar(&anchor, "has", "", "a `hash` that an earlier verify printed, or its first digits")
	return cmd
}

func (e *env) printTrail(s audit.Summary) error {
	if s.Entries == 0 {
		e.Say("the trail has no entry yet")
		return nil
	}
	where := media.Count(s.Files, "file")
	if s.Files == 0 {
		where = "rows"
	}
	e.Say("entries %d to %d in %s are as they were written", s.First, s.Last, where)
	if s.First > 1 {
		e.Say("older ones were removed (audit.keep)")
	}
	e.Say("the last hash is %s", s.Hash)
	return nil
}

func newAuditExport(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "print the whole trail, line by line as it was written",
		Long: `export prints every line of the trail as it was written, the oldest first, whether the
trail is files or rows of the state. "audit verify --file" checks what it has printed.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.load()
			if err != nil {
				return err
			}
			trail, _, end, err := trailOf(cmd.Context(), c)
			if err != nil {
				return err
			}
			return errors.Join(audit.Export(cmd.Context(), trail, e.Stdout), end())
		},
	}
}

// auditQuery is what search looks for. An empty field matches everything.
type auditQuery struct {
	audit.Query
	since, until string
	most         int // entries; 0: all
}

func newAuditSearch(e *env) *cobra.Command {
	var q auditQuery
	cmd := &cobra.Command{
		Use:   "search",
		Short: "list what left, and what was refused",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := q // --watch calls this again
			if q.most < 0 {
				return terminal.Usage("there is no negative number of entries", "0 lists all that there are")
			}
			c, err := e.load()
			if err != nil {
				return err
			}
			if q.Group != "" {
				if g, err := findGroup(c, q.Group); err == nil { // a group may be gone
					q.Group = g.Folder
				}
			}
			if q.From, err = timeOf(q.since); err == nil {
				q.To, err = timeOf(q.until)
			}
			if err != nil {
				return err
			}
			trail, _, end, err := trailOf(cmd.Context(), c)
			if err != nil {
				return err
			}
			q.Query = q.Of(trail)
			return errors.Join(e.searchTrail(cmd.Context(), trail, &q), end())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Group, "group", "g", "", "of this group; its `folder`, name or chat")
	f.StringVar(&q.Chat, "chat", "", "to this chat, by its `JID`")
	f.StringVar(&q.Name, "name", "", "with a file whose name has this `text` in it, whatever its case")
	f.StringVar(&q.SHA256, "sha256", "", "with a file of this `hash`, or of these first digits")
	f.StringVar(&q.Event, "event", "", "what became of it: `sent`, failed, uncertain or refused")
	f.StringVar(&q.Code, "code", "", "refused or failed with this `code`")
	f.StringVar(&q.Request, "request", "", "of this request; its `ID`")
	f.StringVar(&q.since, "since", "", "not before this `time`: 2026-01-31, 2026-01-31T12:00, or 24h for a day ago")
	f.StringVar(&q.until, "until", "", "before this `time`")
	f.IntVarP(&q.most, "most", "n", 100, "the newest `N`; 0: all")
	return cmd
}

// timeOf parses a time, or a duration before now. An empty text is the zero time.
func timeOf(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(s); err == nil {
		return time.Now().Add(-ago), nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.ParseInLocation(form, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, terminal.Usage(fmt.Sprintf("%q is no time", s), "write 2026-01-31, 2026-01-31T12:00, or 24h for a day ago")
}

// searchTrail prints the entries that match, the oldest first. With a bound, it holds that many in
// memory; without one it prints them while it reads.
func (e *env) searchTrail(ctx context.Context, trail audit.Trail, q *auditQuery) error {
	if q.most == 0 && e.Watched != nil {
		return terminal.Usage("--watch shows so many entries at most", "say how many, as --most 1000")
	}
	if q.most == 0 {
		return e.streamTrail(ctx, trail, q)
	}
	all, err := audit.Newest(ctx, trail, q.Query, q.most)
	if err != nil {
		return err
	}
	return e.Answer(all, func() error { return e.listTrail(all) })
}

// each calls see with each entry that matches.
func (q *auditQuery) each(ctx context.Context, trail audit.Trail, see func(audit.Entry) error) error {
	return audit.Search(ctx, trail, func(entry audit.Entry) error {
		if !q.Fits(entry) {
			return nil
		}
		return see(entry)
	})
}

// trailPage is how many entries streamTrail prints as one table.
const trailPage = 1000

func (e *env) streamTrail(ctx context.Context, trail audit.Trail, q *auditQuery) error {
	if e.JSON {
		list := e.JSONList()
		err := q.each(ctx, trail, func(entry audit.Entry) error { return list.Add(entry) })
		return errors.Join(err, list.End())
	}
	page, found := make([]audit.Entry, 0, trailPage), false
	err := q.each(ctx, trail, func(entry audit.Entry) error {
		if page = append(page, entry); len(page) < trailPage {
			return nil
		}
		found = true
		err := e.listTrail(page)
		page = page[:0]
		return err
	})
	if err != nil || found && len(page) == 0 {
		return err
	}
	return e.listTrail(page)
}

func (e *env) listTrail(all []audit.Entry) error {
	return terminal.List(&e.Terminal, "nothing in the trail fits", []string{"TIME", "GROUP", "EVENT", "WHAT"}, all, func(entry audit.Entry) []string {
		return []string{terminal.ClockText(entry.Time), entry.Group, entry.Event, inTrail(entry)}
	})
}

// inTrail describes an entry on one line.
func inTrail(e audit.Entry) string {
	var what []string
	for _, p := range e.Parts {
		one := p.Kind
		if p.Name != "" {
			one = p.Name
			if p.Bytes > 0 || p.SHA256 != "" { // else the host refused it before it measured it
				one += ", " + media.Size(p.Bytes)
			}
			if p.SHA256 != "" {
				one += fmt.Sprintf(", %.12s", p.SHA256)
			}
		}
		what = append(what, one)
	}
	if e.Chat != "" {
		what = append(what, "to "+e.Chat)
	}
	if e.Code != "" {
		what = append(what, e.Code+": "+e.Message)
	} else if e.Message != "" {
		what = append(what, e.Message)
	}
	return strings.Join(what, "; ")
}
