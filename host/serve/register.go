package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/ipc"
)

// Registered is the answer to register_group.
type Registered struct {
	Folder string `json:"folder"`
	Chat   string `json:"chat"`
	Words  string `json:"words"`
}

// registers reports whether a group may register others.
func (h *Host) registers(g groups.Group) bool {
	return g.Main && g.Actions.Has(groups.ActRegister) && len(h.Config().Register.Chats) > 0 && h.opts.File != nil
}

// register makes a group of a chat that the operator has allowed. The state has the group
// before the answer, so a call that is made again finds it there.
func (h *Host) register(ctx context.Context, c bridge.Call) (any, error) {
	h.adding.Lock()
	defer h.adding.Unlock()
	from, _ := h.Registry().ByFolder(c.From.Folder())
	g, err := h.newGroup(from, c.Request)
	if err != nil {
		return nil, err
	}
	answer := Registered{Folder: g.Folder, Chat: string(g.Chat), Words: fmt.Sprintf("%s is registered. Every message there calls its assistant.", g.Chat)}
	if g.Trigger != "" {
		answer.Words = fmt.Sprintf("%s is registered. %s calls its assistant there.", g.Chat, g.Trigger)
	}
	if slices.ContainsFunc(h.Registry().All(), func(o groups.Group) bool { return o.Chat == g.Chat && o.Folder == g.Folder }) {
		return answer, nil
	}
	if err := h.mayAdd(g); err != nil {
		return nil, err
	}
	if err := h.add(ctx, g); err != nil {
		return nil, err
	}
	h.opts.Log.Info("group registered by the main group", "group", g.Folder, "chat", string(g.Chat))
	return answer, nil
}

// newGroup returns the group that a request of from asks for.
func (h *Host) newGroup(from groups.Group, r ipc.Request) (groups.Group, error) {
	allowed := h.Config().Register
	jid, err := groups.ParseJID(r.JID)
	switch {
	case !from.Main:
		return groups.Group{}, &ipc.Refusal{Code: "not_allowed", Message: "only the main group registers groups", Hint: "ask the operator"}
	case !h.registers(from):
		return groups.Group{}, &ipc.Refusal{Code: "not_allowed", Message: "the operator lets no chat be registered", Hint: "ask the operator to name it below register: in longshore.yaml"}
	case err != nil:
		return groups.Group{}, err
	case !allowed.Allows(jid):
		return groups.Group{}, &ipc.Refusal{Code: groups.CodeChatNotAllowed, Message: "the operator does not let this chat be registered", Hint: "ask the operator to name it below register: in longshore.yaml"}
	}
	g := groups.Group{Name: r.Name, Folder: cmp.Or(r.NewFolder, groups.FolderOf(r.Name)), Chat: jid, Trigger: r.Trigger}
	if allowed.Restrictions != config.NoRestrictions {
		g.RegisteredBy = from.Folder
	}
	if asks, _ := from.Judge(groups.Exit{To: groups.Address{JID: jid}}, time.Time{}); asks != "" {
		g.Name = string(jid) // members may see the name, so it must not be the assistant's words
		if g.Trigger != "" && !h.knowsTrigger(g.Trigger) {
			return g, &ipc.Refusal{Code: groups.CodeNeedsApproval, Message: fmt.Sprintf("words in another chat wait for a person's yes (rule %s), and a trigger cannot wait", asks), Hint: "use the trigger @" + h.Config().Name + ", or none"}
		}
	}
	return g, nil
}

// knowsTrigger reports whether a trigger is the operator's own words.
func (h *Host) knowsTrigger(trigger string) bool {
	return trigger == "@"+h.Config().Name || slices.ContainsFunc(h.Registry().All(), func(g groups.Group) bool { return g.Trigger == trigger && g.RegisteredBy == "" })
}

// mayAdd refuses a group that cannot be added, or that is one too many.
func (h *Host) mayAdd(g groups.Group) error {
	all := h.Registry().All()
	if len(all) >= h.Config().Register.Most {
		return &ipc.Refusal{Code: groups.CodeNotRegistered, Message: fmt.Sprintf("there are %d groups, and the operator allows no more", len(all)), Hint: "ask the operator to raise register: most"}
	}
	return h.Layout.MayAdd(all, g, false)
}

// add keeps the group in the state and puts it in force. Without success, the state is as it was.
func (h *Host) add(ctx context.Context, g groups.Group) error {
	registered, err := h.registered(ctx)
	if err != nil {
		return h.notAdded(g, nil, err)
	}
	registered = slices.DeleteFunc(registered, func(o groups.Group) bool { // one that the file left out gives way
		_, served := h.Registry().ByFolder(o.Folder)
		return !served && (strings.EqualFold(o.Folder, g.Folder) || o.Chat == g.Chat)
	})
	cfg, problems, err := h.opts.File.Load(append(registered, g))
	if err != nil || len(problems) > 0 {
		return h.notAdded(g, problems, err)
	}
	if p := cfg.LeftOut[g.Folder]; p != nil {
		return h.notAdded(g, []*config.Problem{p}, nil)
	}
	err = h.State.Do(ctx, func(t *state.Tx) error {
		if err := t.Exec(`DELETE FROM registered_group WHERE lower(folder) = lower(?) OR chat = ?`, g.Folder, string(g.Chat)); err != nil {
			return err
		}
		err := t.Exec(`INSERT INTO registered_group (folder, chat, name, word, maker, made) VALUES (?, ?, ?, ?, ?, ?)`,
			g.Folder, string(g.Chat), g.Name, g.Trigger, g.RegisteredBy, time.Now().UnixNano())
		return err
	}, nil)
	if err != nil {
		return h.notAdded(g, nil, store.Words(err))
	}
	reloaded, err := h.Reload(ctx, false)
	if _, in := h.Registry().ByFolder(g.Folder); in {
		return nil
	}
	for _, p := range reloaded.Problems {
		err = errors.Join(err, errors.New(p))
	}
	_, undone := h.State.Exec(context.WithoutCancel(ctx), `DELETE FROM registered_group WHERE folder = ?`, g.Folder)
	return h.notAdded(g, nil, errors.Join(err, undone))
}

// notAdded returns the refusal of a group that the configuration cannot have. The log has the whole
// reason; the assistant only sees what is wrong with its own values.
func (h *Host) notAdded(g groups.Group, problems []*config.Problem, err error) error {
	refusal := &ipc.Refusal{Code: groups.CodeNotRegistered, Message: "the host could not add the group", Hint: "ask the operator; the host's log says why"}
	given := regexp.MustCompile(`^groups\[\d+\]\.(name|chat|channel|trigger)$`)
	for _, p := range problems {
		err = errors.Join(err, p)
		if given.MatchString(p.Key) {
			refusal.Message, refusal.Hint = p.Message, p.Hint
		}
	}
	h.opts.Log.Error("group not registered for the main group", "group", g.Folder, "chat", string(g.Chat), "error", err)
	return refusal
}
