package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/nanoclaw"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// importFlags are the flags of import nanoclaw.
type importFlags struct {
	to, allowlist string
	apply, force  bool
}

func newImport(e *env) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "nanoclaw DIR",
		Short: "make a longshore.yaml of a NanoClaw v1 installation; prints it unless --apply is given",
		Long: `nanoclaw reads the registered groups of the NanoClaw v1 installation at DIR,
its mount allowlist and its .env, and shows the longshore.yaml that serves them
where they are. It changes nothing in DIR; --apply writes the one file that
--to names.`,
		Args: terminal.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return e.importNanoClaw(cmd, args[0], f) },
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "write the configuration")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the file if it is there")
	cmd.Flags().StringVar(&f.to, "to", "longshore.yaml", "the configuration `file` to write")
	cmd.Flags().StringVar(&f.allowlist, "allowlist", "", "the mount allowlist `file` (default ~/.config/nanoclaw/mount-allowlist.json)")
	return terminal.Family("import", "take over the groups of another bridge", cmd)
}

// imported is what --json prints.
type imported struct {
	*nanoclaw.Plan
	To      string `json:"to"`
	Written bool   `json:"written"`
}

func (e *env) importNanoClaw(cmd *cobra.Command, dir string, f importFlags) error {
	found, err := nanoclaw.Read(cmd.Context(), dir, nanoclaw.Options{Allowlist: f.allowlist, Getenv: e.getenv, Platforms: e.platforms})
	if errors.Is(err, nanoclaw.ErrNoGroups) {
		return terminal.Hinted(err, "name the directory from which NanoClaw v1 is started; v2 keeps its groups elsewhere and cannot be imported")
	}
	if err != nil {
		return err
	}
	if err := outside(found.Dir, f.to); err != nil {
		return err
	}
	plan, err := found.Plan(f.to)
	if err != nil {
		return err
	}
	if f.apply {
		if err := writeConfig(f.to, []byte(plan.Text), f.force); err != nil {
			return err
		}
	}
	if e.JSON {
		return e.PrintJSON(imported{Plan: plan, To: f.to, Written: f.apply})
	}
	return e.sayImport(plan, f)
}

// outside rejects an output path inside the imported installation: v1's main group might see the file
// there, and import promises to change nothing in that directory.
func outside(dir, file string) error {
	parent, err := filepath.Abs(filepath.Dir(file))
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err != nil {
		return fmt.Errorf("find where to write: %w", err)
	}
	if _, inside := safefs.Below(dir, parent); !inside {
		return nil
	}
	return terminal.Usage(fmt.Sprintf("%s lies in the directory that is imported", file), "run the command elsewhere, or name a file outside with --to")
}

func (e *env) sayImport(plan *nanoclaw.Plan, f importFlags) error {
	e.Say("from  %s", filepath.Join(plan.Dir, plan.Source))
	if f.apply {
		e.Say("to    %s (written)", f.to)
	} else {
		e.Say("to    %s (not written; --apply writes it)", f.to)
	}
	e.Say("")
	t := e.Table("FOLDER", "CHAT", "NAME", "TRIGGER", "MAIN", "MOUNTS")
	for _, g := range plan.Groups {
		main := ""
		if g.Main {
			main = "yes"
		}
		var mounts []string
		for _, m := range g.Mounts {
			mounts = append(mounts, m.Name)
		}
		t.Row(g.Folder, g.Chat, g.Name, g.Trigger, main, strings.Join(mounts, " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(plan.LeftOut) > 0 {
		e.Say("\nleft out")
	}
	for _, l := range plan.LeftOut {
		e.Say("  %s: %s", l.What, l.Why)
	}
	e.Say("\nwhat changes")
	for _, note := range plan.Notes {
		e.Say("  %s", note)
	}
	if f.apply {
		e.Say("\nnext:")
		e.Say("  1. stop NanoClaw v1")
		e.Say("  2. longshore --config %s doctor", f.to)
		e.Say("  3. longshore --config %s serve", f.to)
		return nil
	}
	e.Say("\n--- %s", f.to)
	for line := range strings.Lines(plan.Text) {
		e.Say("%s", strings.TrimRight(line, "\n"))
	}
	return nil
}
