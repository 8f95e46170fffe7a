package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

func newInit(e *env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a commented longshore.yaml to start from",
		Args:  terminal.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := writeConfig(e.made(), config.Example(), force); err != nil {
				return err
			}
			if e.JSON {
				return e.PrintJSON(map[string]string{"wrote": e.made()})
			}
			with := "" // the flag without which the commands do not find the file
			if e.Named {
				with = " -c " + e.Config
			}
			e.Say("wrote %s", e.made())
			e.Say("")
			e.Say("next:")
			e.Say("  1. edit it: one entry under groups: for each chat")
			e.Say("  2. longshore%s config validate", with)
			e.Say("  3. longshore%s doctor", with)
			e.Say("  4. longshore%s serve", with)
			e.Say("  5. longshore%s page, which prints an address of the operator's page", with)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file if it is there")
	return cmd
}

// writeConfig writes a file with mode 0600, because secrets may come into it. With force it replaces a
// file that is there, which keeps its owner and mode.
func writeConfig(path string, text []byte, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return terminal.Hinted(fmt.Errorf("%s is there already", path), "give --force to overwrite it, or --config for another file")
	}
	old, err := os.ReadFile(path)
	if err == nil {
		err = safefs.Replace(path, old, text)
	} else {
		err = safefs.WriteFile(path, text, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return terminal.Hinted(fmt.Errorf("write configuration: %w", err), "make the directory first")
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
