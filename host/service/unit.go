// Package service writes what a service manager reads to run the host (a systemd
// unit, a launchd agent), and reports the host's states to systemd. It starts nothing.
package service

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
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

var unit = template.Must(template.New("unit").Funcs(template.FuncMap{"quote": quote, "command": command}).Parse(`# ` + Mark + `
[Unit]
Description=Longshore
Documentation=https://github.com/longshore-bridge/longshore
{{- if .System}}
After=network-online.target docker.service
Wants=network-online.target
{{- end}}

[Service]
Type=notify
ExecStart={{command .Program}} -c {{command .Config}} serve
ExecReload={{command .Program}} -c {{command .Config}} reload
WorkingDirectory={{.Dir}}
Environment={{quote (print "PATH=" .Path)}}
EnvironmentFile=-{{.Dir}}/environment
Restart=on-failure
RestartSec=5
WatchdogSec=60
TimeoutStartSec=10min
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
{{- if .System}}
{{- if .Unprivileged}}
User={{.User}}
CapabilityBoundingSet=
AmbientCapabilities=
{{- end}}
{{- range .Groups}}
SupplementaryGroups={{.}}
{{- end}}
ProtectSystem=strict
ProtectHome={{.Home}}
{{- range .Write}}
ReadWritePaths=-{{quote .}}
{{- end}}
PrivateTmp=yes
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
SystemCallErrorNumber=EPERM
{{- end}}

[Install]
WantedBy={{if .System}}multi-user{{else}}default{{end}}.target
`))

// Unit is the text of a systemd unit. The error is of a path that no unit can hold.
func (s Service) Unit() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err := unit.Execute(&text, struct {
		Service
		Dir, Home    string
		Unprivileged bool
	}{s, strings.ReplaceAll(filepath.Dir(s.Config), "%", "%%"), s.home(), s.User != "" && s.User != "root"})
	return text.Bytes(), err
}

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

var agent = template.Must(template.New("agent").Funcs(template.FuncMap{"xml": escape}).Parse(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + Mark + ` -->
<plist version="1.0">
<dict>
	<key>Label</key><string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>{{xml .Program}}</string>
		<string>-c</string>
		<string>{{xml .Config}}</string>
		<string>serve</string>
	</array>
	<key>WorkingDirectory</key><string>{{xml .Dir}}</string>
	<key>EnvironmentVariables</key><dict><key>PATH</key><string>{{xml .Path}}</string></dict>
	<key>StandardErrorPath</key><string>{{xml .Dir}}/longshore.log</string>
	<key>Umask</key><integer>63</integer>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`))

// Agent is the text of a launchd agent of one user.
func (s Service) Agent() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Path = cmp.Or(s.Path, "/usr/local/bin:/usr/bin:/bin")
	var text bytes.Buffer
	err := agent.Execute(&text, struct {
		Service
		Dir string
	}{s, filepath.Dir(s.Config)})
	return text.Bytes(), err
}

func escape(text string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}
