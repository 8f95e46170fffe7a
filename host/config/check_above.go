package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// writer is a directory in which a group's assistant may rename and replace files.
type writer struct {
	dir   string
	group string // its folder
}

// throughWriters rejects a path that leads through a directory in which an assistant
// may write, also the assistant of the same group: it could put a link on the way.
// The engine would follow that link to a mount; the next start, to a secret's file.
func (c *checker) throughWriters() {
	writers := make(map[safefs.Identity]writer)
	for _, w := range c.writers() {
		if id, ok := safefs.IdentityOf(w.dir); ok {
			writers[id] = w
		}
	}
	main := slices.ContainsFunc(c.cfg.Groups, func(g groups.Group) bool { return g.Main })
	for _, key := range slices.Sorted(maps.Keys(c.written)) {
		if key == "project" && !main {
			continue // nobody sees it
		}
		for _, dir := range directoriesTo(c.written[key]) {
			id, _ := safefs.IdentityOf(dir)
			if w, found := writers[id]; found {
				c.bad(key, fmt.Sprintf("the path goes through %q, where the assistant of group %q may write and could put a link on the way", w.dir, w.group),
					"name a place that is reached without a directory which a group may write to, or leave write: out of the mount there")
				break
			}
		}
	}
}

// maxHops is how many links are followed on the way to one place, as Linux does.
const maxHops = 40

// directoriesTo are all directories in which a name is looked up on the way to
// path, which is absolute; they are free of links.
func directoriesTo(path string) (dirs []string) {
	at, rest := "/", strings.Split(path, "/")
	for hops := 0; len(rest) > 0 && hops <= maxHops; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		dirs = append(dirs, at)
		next := filepath.Join(at, part)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing there
			at = next
			continue
		}
		hops++
		rest = append(strings.Split(target, "/"), rest...)
		if filepath.IsAbs(target) {
			at = "/"
		}
	}
	return dirs
}

// writers returns the directories in which assistants may write, without rejected
// mounts.
func (c *checker) writers() (all []writer) {
	l := c.cfg.Layout()
	for i, g := range c.cfg.Groups {
		dirs := []string{l.Workspace(g.Folder), filepath.Join(l.Homes(), g.Folder)}
		if l.V1 {
			dirs = append(dirs, l.IPC(g.Folder, ""), l.Session(g.Folder))
		}
		for _, leaf := range groups.IPCWritable {
			dirs = append(dirs, l.IPC(g.Folder, leaf))
		}
		for j, e := range g.Mounts {
			if e.Write && !c.refused(fmt.Sprintf("groups[%d].mounts[%d].host", i, j)) {
				dirs = append(dirs, e.Host)
			}
		}
		for _, dir := range dirs {
			all = append(all, writer{dir, g.Folder})
		}
	}
	return all
}
