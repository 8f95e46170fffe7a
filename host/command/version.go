package command

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// versionInfo is the output of "longshore version".
type versionInfo struct {
	Version  string            `json:"version"`
	Revision string            `json:"revision,omitempty"`
	Modified bool              `json:"modified,omitempty"` // built from a tree with changes
	Time     string            `json:"time,omitempty"`     // of the revision
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Config   string            `json:"config"` // the configuration that commands read here
	Modules  map[string]string `json:"modules"`
}

// notable returns the modules whose versions a bug report needs: they speak with platforms or read
// formats.
func notable() []string {
	return []string{
		"github.com/fsnotify/fsnotify",
		"github.com/gabriel-vasile/mimetype",
		"github.com/mark3labs/mcp-go",
		"github.com/slack-go/slack",
		"go.mau.fi/whatsmeow",
		"modernc.org/sqlite",
	}
}

// readVersion returns what the linker and the go command have written into the binary.
func readVersion(version string) versionInfo {
	info := versionInfo{
		Version: cli.Version(version), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: map[string]string{},
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	for _, m := range build.Deps {
		if slices.Contains(notable(), m.Path) {
			info.Modules[m.Path] = m.Version
		}
	}
	return info
}

// versionFlag adds --version to root. Cobra's own would link templates: see httpd.Fill.
func (e *env) versionFlag(root *cobra.Command) {
	show, otherwise := root.Flags().BoolP("version", "v", false, "version for longshore"), root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*show {
			return otherwise(cmd, args)
		}
		_, err := fmt.Fprintln(e.Stdout, "longshore", readVersion(e.version).Version)
		return err
	}
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of longshore and of what it is built with, and which configuration it reads",
		Long: `version prints what this program is, and which configuration the commands read here: the
file that -c names; else the one that LONGSHORE_CONFIG names; else the first that there is of
longshore.yaml, ~/.config/longshore/longshore.yaml (or below $XDG_CONFIG_HOME) and
/etc/longshore/longshore.yaml.`,
		Args: terminal.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			info := readVersion(e.version)
			info.Config = e.Config
			if e.JSON {
				return e.PrintJSON(info)
			}
			e.Say("longshore %s", info.Version)
			t := e.Table()
			if info.Revision != "" {
				note := ""
				if info.Modified {
					note = " with changes"
				}
				t.Row("revision", info.Revision+note)
				t.Row("of", info.Time)
			}
			t.Row("go", info.Go)
			t.Row("platform", info.Platform)
			t.Row("configuration", info.Config)
			for _, path := range notable() {
				if v, ok := info.Modules[path]; ok {
					t.Row(path, v)
				}
			}
			return t.Flush()
		},
	}
}
