package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
)

// advice warns of settings that work but are seldom intended.
func (c *checker) advice() {
	if c.cfg.MediaTools == "unconfined" {
		c.warn("media_tools", "ffmpeg, ffprobe, pdfinfo and pdftoppm read members' and assistants' files with the host's own rights",
			"leave the key out, unless doctor then reports that a program cannot run without rights here")
	}
	for name, a := range c.cfg.Assistants {
		key := "assistants." + name
		if a.Runtime == "process" {
			c.unboxed(key)
		} else if a.Runtime == "docker" && a.Network == "host" {
			c.warn(key+".network", "the assistants share all that listens on this machine, the chat page included",
				"take bridge, none, or a network that you made, unless this is a test")
		}
		c.openWords(key+".command", a.Command)
	}
	c.sharedMounts()
	c.unanswered()
	for _, g := range c.cfg.Groups {
		if g.Main && c.cfg.Assistants[g.Assistant].Runtime == "docker" {
			c.uncovered()
		}
	}
}

// unanswered warns of chats in which nobody would answer, if there are assistants: an
// installation without any leaves answering to other programs.
func (c *checker) unanswered() {
	if len(c.cfg.Groups) == 0 && len(c.cfg.Assistants) > 0 && c.cfg.Direct == "off" {
		c.warn("groups", "nobody answers: there is no group", "add a chat: longshore groups add CHAT --name NAME --assistant NAME")
	}
	for i, g := range c.cfg.Groups {
		if g.Assistant == "" && len(c.cfg.Assistants) > 0 {
			c.warn(fmt.Sprintf("groups[%d]", i), "nobody answers in the chat of "+g.Folder+": the group has no assistant",
				"write assistant: and one of "+strings.Join(slices.Sorted(maps.Keys(c.cfg.Assistants)), ", ")+", unless the group only sends")
		}
		if who := g.Members.Of(groups.MaySpeak); g.Assistant != "" && strings.HasPrefix(string(g.Chat), "web:") && !slices.Contains(who, groups.WhoAll) && !slices.Contains(who, groups.WhoAdmins) {
			c.warn(fmt.Sprintf("groups[%d].members.speak", i), "nobody may speak in "+g.Folder+": members of the chat page have no ids", "write all or admins")
		}
		if strings.TrimSpace(g.Trigger) != g.Trigger {
			c.warn(fmt.Sprintf("groups[%d].trigger", i), "the trigger has spaces around it, which members have to write too", "write it without them")
		}
	}
}

// uncovered warns of a project whose .env a container can open under another
// spelling: a mount over a file covers only the one name.
func (c *checker) uncovered() {
	env, err := os.Lstat(filepath.Join(c.cfg.Project, ".env"))
	other, otherErr := os.Lstat(filepath.Join(c.cfg.Project, ".ENV"))
	if err == nil && otherErr == nil && os.SameFile(env, other) {
		c.warn("project", "its file system does not tell upper from lower case, so that main's container can read .env as .ENV; it cannot be sent by either name",
			"move .env out of the project directory, or set project: to another one")
	}
}

// unboxed warns of an assistant with container settings and no container.
func (c *checker) unboxed(key string) {
	for _, of := range []string{"image", "network", "memory", "cpus", "pids"} {
		if c.has(key + "." + of) {
			c.warn(key+"."+of, "this is a container's, and without runtime: docker there is none: the assistant has the host's own rights",
				"add runtime: docker, or leave the key out")
			return
		}
	}
}

// secretFlag is an option that hands over a secret.
var secretFlag = regexp.MustCompile(`(?i)^--?([a-z0-9]+[_-])*(api-?)?(key|token|secret|password)(=.+)?$`)

// openWords warns of secrets among a command's arguments, which every program on
// the machine may read.
func (c *checker) openWords(key string, command []string) {
	for i, word := range command {
		if envReference.MatchString(word) {
			c.warn(key, "a command goes as it stands: "+word+" is not looked up", "name the variable below env:, where the program finds it")
			return
		}
		follows := i+1 < len(command) && !strings.HasPrefix(command[i+1], "-")
		if secretFlag.MatchString(word) && (strings.Contains(word, "=") || follows) {
			c.warn(key, "this looks like a secret on a command line, which others on this machine and whoever may ask the engine can read",
				"hand it over below env: or env_from_file:")
			return
		}
	}
}

// sharedMounts warns of a group's mounts in which another group may write: one
// assistant puts a file there, the other reads it and may send it.
func (c *checker) sharedMounts() {
	writers := map[string][]int{} // groups that may write to a directory
	for i, g := range c.cfg.Groups {
		for _, e := range g.Mounts {
			if e.Write && e.Host != "" { // an unresolved one is reported elsewhere
				writers[e.Host] = append(writers[e.Host], i)
			}
		}
	}
	dirs := slices.Sorted(maps.Keys(writers))
	for i, g := range c.cfg.Groups {
		for j, e := range g.Mounts {
			if other := otherWriter(writers, dirs, e.Host, i); other >= 0 {
				c.warn(fmt.Sprintf("groups[%d].mounts[%d].host", i, j), fmt.Sprintf("the group %q may write there too, and so reaches this one's assistant", c.cfg.Groups[other].Folder),
					"mount a directory that no other group may write to, where the two do not trust each other")
			}
		}
	}
}

// otherWriter returns a group other than own that may write to dir, to a directory
// that holds it, or to one below it; -1: none may. dirs are writers' keys in order.
func otherWriter(writers map[string][]int, dirs []string, dir string, own int) int {
	other := func(d string) int {
		if i := slices.IndexFunc(writers[d], func(i int) bool { return i != own }); i >= 0 {
			return writers[d][i]
		}
		return -1
	}
	below := strings.TrimSuffix(dir, "/") + "/"
	first, _ := slices.BinarySearch(dirs, below)
	for _, d := range dirs[first:] {
		if !strings.HasPrefix(d, below) || dir == "" {
			break
		}
		if i := other(d); i >= 0 {
			return i
		}
	}
	for ; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if i := other(dir); i >= 0 {
			return i
		}
	}
	return other(dir)
}
