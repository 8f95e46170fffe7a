package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/service"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

func newService(e *env) *cobra.Command {
	var show bool
	install := &cobra.Command{
		Use:   "install",
		Short: "have the machine's service manager run the host",
		Long: `install writes a hardened systemd unit (on macOS a launchd agent, which nobody has
tried yet) for this longshore.yaml, and starts it. It never overwrites a file that it has not
written. Root installs a service of the machine, which runs as the owner of
longshore.yaml; everybody else installs a service of their own.
It ends with exit code 3 if the machine has no such service manager.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := managerHere(e.getenv)
			s, err := e.describeService(m)
			if err != nil {
				return err
			}
			text, err := m.text(s)
			if err != nil {
				return err
			}
			if show {
				_, err := e.Stdout.Write(text)
				return err
			}
			return e.installService(cmd.Context(), m, text)
		},
	}
	install.Flags().BoolVar(&show, "print", false, "only print the file")
	uninstall := terminal.Verb("uninstall", "stop the service and remove its file; state and configuration stay",
		func(cmd *cobra.Command, _ []string) error {
			return e.uninstallService(cmd.Context(), managerHere(e.getenv))
		})
	status := terminal.Verb("status", "say whether the service is installed and runs", func(cmd *cobra.Command, _ []string) error {
		return e.serviceStatus(cmd.Context(), managerHere(e.getenv))
	})
	return terminal.Family("service", "run the host by systemd or launchd", install, uninstall, status)
}

// manager is the service manager of this machine.
type manager struct {
	launchd bool
	system  bool   // a service of the machine, not of the user
	file    string // of the service
	running string // a path that exists while the manager runs
	program string // the manager's command
	log     string // the command that shows the service's log
}

func managerHere(getenv func(string) string) manager {
	home := getenv("HOME")
	if runtime.GOOS == "darwin" {
		return manager{launchd: true, file: filepath.Join(home, "Library/LaunchAgents", service.Label+".plist"), running: "/sbin/launchd", program: "launchctl", log: "tail longshore.log, beside longshore.yaml"}
	}
	if os.Geteuid() == 0 {
		return manager{system: true, file: "/etc/systemd/system/longshore.service", running: "/run/systemd/system", program: "systemctl", log: "journalctl -u longshore"}
	}
	dir := cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	return manager{
		file: filepath.Join(dir, "systemd/user/longshore.service"), running: filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "systemd"), program: "systemctl",
		log: "journalctl --user -u longshore",
	}
}

func (m manager) text(s service.Service) ([]byte, error) {
	if m.launchd {
		return s.Agent()
	}
	return s.Unit()
}

// here returns an error with exit code 3 if the manager does not run.
func (m manager) here() error {
	if _, err := os.Stat(m.running); err == nil {
		return nil
	}
	return &terminal.Error{
		Code: terminal.ExitRefused, Err: fmt.Errorf("this machine is not run by systemd: there is no %s", m.running),
		Hint: "start the host by hand: longshore serve; the unit for another machine: longshore service install --print",
	}
}

// operate runs the manager's program and returns its output.
func (m manager) operate(ctx context.Context, args ...string) (string, error) {
	if !m.launchd && !m.system {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, m.program, args...)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", m.program, strings.Join(args, " "), err, strings.TrimSpace(wrong.String()))
	}
	return string(said), nil
}

// describeService describes the host of the configuration for the manager. A service of the machine
// runs as the owner of longshore.yaml.
func (e *env) describeService(m manager) (service.Service, error) {
	cfg, err := e.load()
	if err != nil {
		return service.Service{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return service.Service{}, fmt.Errorf("find this program: %w", err)
	}
	s := service.Service{Program: program, Config: cfg.File, Path: e.getenv("PATH"), System: m.system, Write: writable(cfg)}
	if !m.system {
		return s, nil
	}
	info, err := os.Stat(cfg.File)
	if err != nil {
		return s, fmt.Errorf("look at the configuration: %w", err)
	}
	owner, err := ownerOf(info)
	if err != nil {
		return s, terminal.Hinted(fmt.Errorf("find the owner of %s: %w", cfg.File, err), "give the file to the user that shall run the host: chown USER "+cfg.File)
	}
	s.User = owner.Username
	if _, err := user.LookupGroup("docker"); err == nil && len(cfg.InContainers()) > 0 {
		s.Groups = []string{"docker"}
	}
	return s, nil
}

// ownerOf returns the user to whom a file belongs.
func ownerOf(info fs.FileInfo) (*user.User, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("the system does not say who owns it")
	}
	return user.LookupId(strconv.Itoa(int(stat.Uid)))
}

// writable returns the directories that the host or an assistant writes to.
func writable(cfg *config.Config) []string {
	dirs := []string{filepath.Dir(cfg.File), cfg.State.Directory}
	for _, g := range cfg.Groups {
		for _, mount := range g.Mounts {
			if mount.Write {
				dirs = append(dirs, mount.Host)
			}
		}
	}
	if cfg.Backup.Directory != "" {
		dirs = append(dirs, cfg.Backup.Directory)
	}
	return dirs
}

func (e *env) installService(ctx context.Context, m manager, text []byte) error {
	if err := m.here(); err != nil {
		return err
	}
	if err := m.ours(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o755); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	if err := safefs.WriteFile(m.file, text, 0o644); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	steps := [][]string{{"daemon-reload"}, {"enable", "longshore.service"}, {"restart", "longshore.service"}}
	if m.launchd {
		steps = [][]string{{"bootstrap", "gui/" + strconv.Itoa(os.Getuid()), m.file}}
	}
	for _, step := range steps {
		if _, err := m.operate(ctx, step...); err != nil {
			return terminal.Hinted(err, "the service's log: "+m.log)
		}
	}
	also := ""
	if !m.system && !m.launchd {
		also = "\nso that it runs while you are not signed in: loginctl enable-linger"
	}
	return e.Done(map[string]string{"wrote": m.file}, "wrote %s; the host runs"+also, m.file)
}

// ours returns an error if the service's file is missing, or if another program wrote it.
func (m manager) ours() error {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return fmt.Errorf("read the service: %w", err)
	}
	if !bytes.Contains(text, []byte(service.Mark)) {
		return &terminal.Error{Code: terminal.ExitRefused, Err: fmt.Errorf("%s was not written by longshore service install; it is left as it is", m.file), Hint: "move the file away first"}
	}
	return nil
}

func (e *env) uninstallService(ctx context.Context, m manager) error {
	if err := m.here(); err != nil {
		return err
	}
	if err := m.ours(); err != nil {
		return err
	}
	steps := []string{"disable", "--now", "longshore.service"}
	if m.launchd {
		steps = []string{"bootout", "gui/" + strconv.Itoa(os.Getuid()) + "/" + service.Label}
	}
	if _, err := m.operate(ctx, steps...); err != nil {
		return err
	}
	if err := os.Remove(m.file); err != nil {
		return fmt.Errorf("remove the service: %w", err)
	}
	if !m.launchd {
		if _, err := m.operate(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	return e.Done(map[string]string{"removed": m.file}, "removed %s; state and configuration are as they were", m.file)
}

// serviceState is the output of "longshore service status".
type serviceState struct {
	File    string `json:"file"`
	State   string `json:"state"`   // the manager's word, such as active
	Started string `json:"started"` // at boot: enabled or disabled
	PID     string `json:"pid"`
}

func (e *env) serviceStatus(ctx context.Context, m manager) error {
	if err := m.here(); err != nil {
		return err
	}
	if m.launchd {
		said, err := m.operate(ctx, "print", "gui/"+strconv.Itoa(os.Getuid())+"/"+service.Label)
		if err == nil {
			e.Say("%s", said)
		}
		return err
	}
	said, err := m.operate(ctx, "show", "longshore.service", "--property=FragmentPath,ActiveState,UnitFileState,MainPID")
	if err != nil {
		return err
	}
	facts := map[string]string{}
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		facts[key] = value
	}
	s := serviceState{File: facts["FragmentPath"], State: facts["ActiveState"], Started: facts["UnitFileState"], PID: facts["MainPID"]}
	err = e.Answer(s, func() error {
		return terminal.List(&e.Terminal, "", []string{"state", "at boot", "process", "file"}, []serviceState{s}, func(s serviceState) []string {
			return []string{s.State, s.Started, s.PID, s.File}
		})
	})
	if err == nil && s.State != "active" {
		err = &terminal.Error{Code: terminal.ExitFailed, Err: errors.New("the service does not run"), Hint: "longshore service install; its log: " + m.log}
	}
	return err
}
