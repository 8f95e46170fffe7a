package nanoclaw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// allowlist is v1's mount-allowlist.json.
type allowlist struct {
	AllowedRoots []struct {
		Path           string `json:"path"`
		AllowReadWrite bool   `json:"allowReadWrite"`
	} `json:"allowedRoots"`
	BlockedPatterns []string `json:"blockedPatterns"`
	NonMainReadOnly bool     `json:"nonMainReadOnly"`
}

func decodeAllowlist(b []byte) (*allowlist, error) {
	var a allowlist
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// containerConfig is v1's configuration of a group's container.
type containerConfig struct {
	AdditionalMounts []additionalMount `json:"additionalMounts"`
	Timeout          json.Number       `json:"timeout"`
}

type additionalMount struct {
	HostPath      string `json:"hostPath"`
	ContainerPath string `json:"containerPath"`
	ReadOnly      *bool  `json:"readonly"` // nil: true
}

// mount decides about one of a group's mounts as v1 does. why is empty if v1
// would mount it. A path that v1 blocks by a part of its name is blocked here
// too.
func (f *Found) mount(m additionalMount, main bool) (_ Mount, why string) {
	if f.allow == nil {
		return Mount{}, "v1 has no mount allowlist, so it mounts no further directories"
	}
	name := cmp.Or(m.ContainerPath, filepath.Base(m.HostPath))
	if strings.Contains(name, "/") || path.Clean(name) != name {
		return Mount{}, fmt.Sprintf("%q is not a single name below /workspace/extra", name)
	}
	real, err := filepath.EvalSymlinks(f.expand(m.HostPath))
	if err != nil {
		return Mount{}, "it does not exist"
	}
	for _, pattern := range f.allow.BlockedPatterns {
		if pattern != "" && strings.Contains(real, pattern) {
			return Mount{}, fmt.Sprintf("the allowlist blocks %q", pattern)
		}
	}
	allowed, writable := false, false
	for _, root := range f.allow.AllowedRoots {
		dir, err := filepath.EvalSymlinks(f.expand(root.Path))
		if _, inside := safefs.Below(dir, real); err == nil && inside {
			allowed, writable = true, writable || root.AllowReadWrite
		}
	}
	if !allowed {
		return Mount{}, "no root of the allowlist is above it"
	}
	wanted := m.ReadOnly != nil && !*m.ReadOnly
	return Mount{Name: name, Host: real, Write: wanted && writable && (main || !f.allow.NonMainReadOnly)}, ""
}

// expand expands a path as v1 does: ~ is the home directory.
func (f *Found) expand(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') && f.options.Getenv("HOME") != "" {
		return filepath.Join(f.options.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(p) {
		return filepath.Join(f.Dir, p)
	}
	return filepath.Clean(p)
}
