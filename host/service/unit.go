// Package service writes what a service manager reads to run the host (a systemd
// unit, a launchd agent), and reports the host's states to systemd. It starts nothing.
package service

import (
	"cmp"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"unicode"
)

// Mark is in each file that this package wrote. A file without it belongs to
// somebody else, and may not be overwritten or removed.
const Mark = "Written by: longshore service install"

// Service is the host as a service manager shall run it. All paths are absolute.
type Service struct {
	Program string   // the longshore program
	Config  string   // longshore.yaml
	Write   []string // directories that the host and its assistants write to
	Path    string   // the PATH by which assistants and tools are found
	System  bool     // a service of the machine; else of one user
	User    string   // who runs a System service; empty or "root": root
	Groups  []string // further groups of that user, such as docker
}

// Unit is the text of a systemd unit. The error is of a path that no unit can hold.
func (s Service) Unit() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	dir := strings.ReplaceAll(filepath.Dir(s.Config), "%", "%%")
	lines := []string{"# " + Mark, "[Unit]", "Description=Longshore", "Documentation=https://github.com/longshore-bridge/longshore"}
	if s.System {
		lines = append(lines, "After=network-online.target docker.service", "Wants=network-online.target")
	}
	lines = append(lines, "", "[Service]", "Type=notify",
		"ExecStart="+command(s.Program)+" -c "+command(s.Config)+" serve",
		"ExecReload="+command(s.Program)+" -c "+command(s.Config)+" reload",
		"WorkingDirectory="+dir, "Environment="+quote("PATH="+s.Path), "EnvironmentFile=-"+dir+"/environment", anyService)
	target := "default"
	if s.System {
		lines, target = append(lines, s.systemLines()...), "multi-user"
	}
	lines = append(lines, "", "[Install]", "WantedBy="+target+".target", "")
	return []byte(strings.Join(lines, "\n")), nil
}

// anyService is what the units of a machine and of a user have in common.
const anyService = `Restart=on-failure
RestartSec=5
WatchdogSec=60
TimeoutStartSec=10min
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native`

// systemLines are those of a service of the machine: its user, and what it may not touch.
func (s Service) systemLines() []string {
	var lines []string
	if s.User != "" && s.User != "root" {
		lines = append(lines, "User="+s.User, "CapabilityBoundingSet=", "AmbientCapabilities=")
	}
	for _, g := range s.Groups {
		lines = append(lines, "SupplementaryGroups="+g)
	}
	lines = append(lines, "ProtectSystem=strict", "ProtectHome="+s.home())
	for _, path := range s.Write {
		lines = append(lines, "ReadWritePaths=-"+quote(path))
	}
	return append(lines, systemService)
}

const systemService = `PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# ffmpeg and its like run in namespaces of their own.
RestrictNamespaces=net ipc user
SystemCallFilter=@system-service seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM`

// home is ProtectHome: hidden, unless the service lives below it.
func (s Service) home() string {
	for _, path := range append([]string{s.Program, s.Config}, s.Write...) {
		for _, hidden := range []string{"/home/", "/root/", "/run/user/"} {
			if strings.HasPrefix(path, hidden) {
				return "read-only"
			}
		}
	}
	return "yes"
}

func (s Service) check() error {
	for _, text := range append([]string{s.Program, s.Config, s.Path, s.User}, append(s.Groups, s.Write...)...) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%q has a control character, which a service file cannot hold", text)
		}
	}
	return nil
}

// quote writes a word so that systemd reads it as it is.
func quote(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word) + `"`
}

// command is quote for a command line, in which systemd expands variables too.
func command(word string) string { return strings.ReplaceAll(quote(word), "$", "$$") }

// Label is the name of the launchd agent.
const Label = "io.github.longshore-bridge.longshore"

// agent is a property list with five gaps: program, configuration, directory, PATH, directory.
const agent = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + Mark + ` -->
<plist version="1.0">
<dict>
	<key>Label</key><string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>%s</string>
		<string>-c</string>
		<string>%s</string>
		<string>serve</string>
	</array>
	<key>WorkingDirectory</key><string>%s</string>
	<key>EnvironmentVariables</key><dict><key>PATH</key><string>%s</string></dict>
	<key>StandardErrorPath</key><string>%s/longshore.log</string>
	<key>Umask</key><integer>63</integer>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`

// Agent is the text of a launchd agent of one user.
func (s Service) Agent() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	dir, path := escape(filepath.Dir(s.Config)), cmp.Or(s.Path, "/usr/local/bin:/usr/bin:/bin")
	return fmt.Appendf(nil, agent, escape(s.Program), escape(s.Config), dir, escape(path), dir), nil
}

// escape writes a text for XML, whose escapes HTML shares.
func escape(text string) string { return html.EscapeString(strings.ToValidUTF8(text, "\uFFFD")) }
