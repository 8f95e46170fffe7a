package nanoclaw

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

// maxPath is how many bytes of a path the operator reads.
const maxPath = 400

// Plan is the result of an import: what is written and what is left out.
type Plan struct {
	Dir     string    `json:"dir"`
	Source  string    `json:"source"`
	Groups  []Group   `json:"groups"`
	LeftOut []LeftOut `json:"leftOut"`
	Notes   []string  `json:"notes"` // what changes, and what has no counterpart
	Text    string    `json:"yaml"`  // the configuration; config.Parse accepts it

	name        string // of the assistant; empty: the default
	image       string
	idle, turn  time.Duration
	assistants  int // how many at once; 0: the default
	project     bool
	allow       []config.Allowed
	block       []string
	credentials []string // names of the variables in .env with the model's keys
	zone        string
	secrets     map[string]bool // names of the variables in .env that are secrets
}

// Group is one imported group.
type Group struct {
	Name    string  `json:"name"`
	Folder  string  `json:"folder"`
	Chat    string  `json:"chat"`
	Trigger string  `json:"trigger,omitempty"`
	Main    bool    `json:"main,omitempty"`
	Mounts  []Mount `json:"mounts,omitempty"`
}

// Mount is one further directory of a group.
type Mount struct {
	Name  string `json:"name"`
	Host  string `json:"host"`
	Write bool   `json:"write,omitempty"`
}

// LeftOut is a part of v1 that is not imported.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Plan makes the configuration for the installation. file is the
// configuration's future path: relative paths start there, and no container may
// see it. An error means that no valid configuration is possible; it is
// permanent.
func (f *Found) Plan(file string) (*Plan, error) {
	p := &Plan{Dir: f.Dir, Source: f.Source, Groups: []Group{}, LeftOut: []LeftOut{}, Notes: slices.Clone(f.Notes), project: true}
	p.knobs(f)
	p.policy(f)
	for _, row := range f.Rows {
		p.take(f, row)
	}
	p.noteSecrets()
	if f.Tasks > 0 {
		p.note("%d scheduled tasks are active in v1; the first start takes them over, but those with a script", f.Tasks)
	}
	p.note("a trigger calls the assistant anywhere in a message, not only at its start")
	p.note("conversations start again: the assistant keeps its files but not the session of its CLI")
	p.note("channels must be linked again: v1's sessions in store/auth belong to another library")
	return p, p.makeValid(file, f.options)
}

// take decides about one row.
func (p *Plan) take(f *Found, row Row) {
	what := Group{Name: row.Name, Folder: row.Folder, Chat: row.Chat}.what()
	if strings.ContainsFunc(row.Name+row.Trigger, unicode.IsControl) {
		p.leave(what, "its name or trigger contains control characters")
		return
	}
	chat, err := groups.ParseJID(row.Chat)
	if err != nil {
		p.leave(what, "its chat has no form that a channel knows")
		return
	}
	if !slices.ContainsFunc(f.options.Platforms, func(p channel.Platform) bool { return p.Owns(chat) }) {
		p.leave(what, "this version has no channel for it ("+chat.Channel()+")")
		return
	}
	if _, err := groups.NewRegistry([]groups.Group{{Folder: row.Folder, Chat: chat}}); err != nil {
		p.leave(what, err.Error())
		return
	}
	g := Group{Name: p.label(row.Name, what), Folder: row.Folder, Chat: row.Chat, Main: row.Main, Trigger: p.trigger(row, what)}
	var config containerConfig
	if row.Config != "" {
		if err := json.Unmarshal([]byte(row.Config), &config); err != nil {
			p.leave("container configuration of "+what, "it is not JSON in v1's form")
			config = containerConfig{}
		}
	}
	if config.Timeout != "" {
		p.note("%s: its own timeout has no counterpart; turn_timeout is set per assistant", what)
	}
	for _, m := range config.AdditionalMounts {
		mount, why := f.mount(m, row.Main)
		if why != "" {
			p.leave(fmt.Sprintf("mount %q of %s", media.Cut(m.HostPath, maxPath), what), why)
			continue
		}
		if m.ReadOnly != nil && !*m.ReadOnly && !mount.Write {
			p.note("mount %q of %s is read-only, as v1's allowlist has it", media.Cut(m.HostPath, maxPath), what)
		}
		g.Mounts = append(g.Mounts, mount)
	}
	p.Groups = append(p.Groups, g)
}

// label returns a name that the configuration accepts. It also drops the
// invisible characters that join emoji.
func (p *Plan) label(name, what string) string {
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	for len(clean) > 100 {
		_, n := utf8.DecodeLastRuneInString(clean)
		clean = clean[:len(clean)-n]
	}
	if clean != name {
		p.note("%s is called %q", what, clean)
	}
	return clean
}

// trigger returns the word that calls the assistant. v1 once used patterns.
// Like v1 itself, trigger replaces a word that looks like a pattern by the
// assistant's name.
func (p *Plan) trigger(row Row, what string) string {
	if row.Main || !row.NeedsTrigger {
		return ""
	}
	word := strings.TrimSpace(row.Trigger)
	usual := "@" + p.called()
	if word == "" || len(word) > 100 || strings.ContainsAny(word, `^$\[](){}|*+?`) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
		if word != "" {
			p.note("%s: the trigger %q is not a plain word; %q is used instead", what, media.Cut(word, 80), usual)
		}
		return usual
	}
	return word
}

// makeValid parses the plan's configuration and leaves out what is refused,
// until nothing is.
func (p *Plan) makeValid(file string, o Options) error {
	for {
		p.Text = p.render()
		unset := func(name string) string { // whether a token counts is for the start to say
			if p.secrets[name] {
				return ""
			}
			return o.Getenv(name)
		}
		_, err := config.Parse(file, []byte(p.Text), unset, o.Platforms)
		if err == nil {
			return nil
		}
		if !p.prune(err) {
			return fmt.Errorf("make configuration: %w", err)
		}
	}
}

// prune leaves out the entries that the error's problems name. It reports
// whether there were any.
func (p *Plan) prune(err error) bool {
	bad := refused{groups: map[int]string{}, mounts: map[[2]int]string{}, allow: map[int]string{}, block: map[int]string{}}
	for _, problem := range config.ProblemsOf(err) {
		switch problem.Key {
		case "project":
			if p.project {
				p.note("the main group does not see v1's root at /workspace/project: %s", problem.Message)
				p.project = false
				return true
			}
		case "name":
			if p.name != "" {
				p.leave(fmt.Sprintf("the assistants' name %q", media.Cut(p.name, 80)), problem.Message)
				p.name = ""
				return true
			}
		default:
			bad.add(problem)
		}
	}
	for i := range slices.Backward(p.allow) {
		if why, ok := bad.allow[i]; ok {
			p.leave(fmt.Sprintf("allowed root %q", media.Cut(p.allow[i].Path, 80)), why)
			p.allow = slices.Delete(p.allow, i, i+1)
		}
	}
	for i := range slices.Backward(p.block) {
		if why, ok := bad.block[i]; ok {
			p.leave(fmt.Sprintf("blocked pattern %q", media.Cut(p.block[i], 80)), why)
			p.block = slices.Delete(p.block, i, i+1)
		}
	}
	p.pruneGroups(bad)
	return len(bad.allow)+len(bad.block)+len(bad.groups)+len(bad.mounts) > 0
}

// pruneGroups leaves out groups and mounts. A group whose problem may only be
// that it shares something with a removed group stays for now; the next round
// decides.
func (p *Plan) pruneGroups(bad refused) {
	var kept, gone []Group
	for i, g := range p.Groups {
		if why, ok := bad.groups[i]; ok && (slices.ContainsFunc(kept, g.collides) || !slices.ContainsFunc(gone, g.collides)) {
			p.leave(g.what(), why)
			gone = append(gone, g)
			continue
		}
		for j := range slices.Backward(g.Mounts) {
			if why, ok := bad.mounts[[2]int{i, j}]; ok {
				p.leave(fmt.Sprintf("mount %q of %s", media.Cut(g.Mounts[j].Host, maxPath), g.what()), why)
				g.Mounts = slices.Delete(g.Mounts, j, j+1)
			}
		}
		kept = append(kept, g)
	}
	p.Groups = append([]Group{}, kept...)
}

func (g Group) collides(with Group) bool {
	return strings.EqualFold(g.Folder, with.Folder) || g.Chat == with.Chat || g.Main && with.Main
}

func (g Group) what() string {
	return fmt.Sprintf("group %q (folder %q, chat %q)", media.Cut(g.Name, 80), media.Cut(g.Folder, 80), media.Cut(g.Chat, 80))
}

// refused holds the reasons why entries of the configuration's lists are
// refused, by index.
type refused struct {
	groups, allow, block map[int]string
	mounts               map[[2]int]string // group and mount
}

func (r refused) add(problem *config.Problem) {
	list, i, rest := splitKey(problem.Key)
	inner, j, _ := splitKey(rest)
	switch {
	case list == "groups" && inner == "mounts":
		r.mounts[[2]int{i, j}] = problem.Message
	case list == "groups":
		r.groups[i] = problem.Message
	case list == "mounts.allow":
		r.allow[i] = problem.Message
	case list == "mounts.block":
		r.block[i] = problem.Message
	}
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

func (p *Plan) leave(what, why string) { p.LeftOut = append(p.LeftOut, LeftOut{what, why}) }

// splitKey splits "groups[2].chat" into its list, its index and the rest.
func splitKey(key string) (list string, i int, rest string) {
	list, after, ok := strings.Cut(key, "[")
	number, rest, closed := strings.Cut(after, "]")
	i, err := strconv.Atoi(number)
	if !ok || !closed || err != nil {
		return key, 0, ""
	}
	return list, i, strings.TrimPrefix(rest, ".")
}
