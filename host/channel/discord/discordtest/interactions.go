package discordtest

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Row is a row of buttons below a message.
type Row struct {
	Type    int      `json:"type"`
	Buttons []Button `json:"components"`
}

// Button is one of a row.
type Button struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	ID    string `json:"custom_id"`
}

// Command is a command of the application.
type Command struct {
	Name        string `json:"name"`
	Type        int    `json:"type"`
	Description string `json:"description"`
}

// Acted is what a member did with a button or a command, and how the bot answered.
type Acted struct {
	token  string
	Answer int    // the kind of the answer; 0: none yet
	Text   string // which that member alone sees
}

// Labels are what stands on the buttons of a message.
func (m Message) Labels() (all []string) {
	for _, r := range m.Rows {
		for _, b := range r.Buttons {
			all = append(all, b.Label)
		}
	}
	return all
}

func rows(all []Row) []Row {
	if all == nil {
		return []Row{}
	}
	return all
}

// checkRows refuses what Discord does.
func checkRows(all []Row) error {
	if len(all) > 5 {
		return invalid("more than five rows")
	}
	seen := map[string]bool{}
	for _, r := range all {
		if r.Type != 1 || len(r.Buttons) == 0 || len(r.Buttons) > 5 {
			return invalid("a row has one to five buttons")
		}
		for _, b := range r.Buttons {
			if b.Type != 2 || b.Style < 1 || b.Style > 4 || b.Label == "" || utf8.RuneCountInString(b.Label) > 80 || b.ID == "" || len(b.ID) > 100 || seen[b.ID] {
				return invalid(fmt.Sprintf("the button %+v", b))
			}
			seen[b.ID] = true
		}
	}
	return nil
}

// Press has a member press a button of a message, and returns what came of it; nil if
// there is no such button.
func (s *Server) Press(channel, user, id, label string) *Acted {
	return s.PressFrom(channel, channel, user, id, label)
}

// PressFrom is Press, as if the message stood in another channel.
func (s *Server) PressFrom(from, channel, user, id, label string) *Acted {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.must(channel).message(id)
	if m == nil {
		return nil
	}
	for _, r := range m.Rows {
		for _, b := range r.Buttons {
			if b.Label == label {
				return s.act(from, user, 3, object{"component_type": 2, "custom_id": b.ID}, s.object(m, false))
			}
		}
	}
	return nil
}

// Command has a member give a command; nil if the application has none of that name.
func (s *Server) Command(channel, user, name string) *Acted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.commands, func(c Command) bool { return c.Name == name }) {
		return nil
	}
	return s.act(channel, user, 2, object{"id": "1", "name": name, "type": 1}, nil)
}

// Answered is how the bot has answered, as far as it has.
func (s *Server) Answered(a *Acted) Acted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *a
}

// act tells the sessions of an interaction. The lock is held.
func (s *Server) act(channel, user string, kind int, data, message object) *Acted {
	id := s.messageID()
	a := &Acted{token: "aW50ZXJhY3Rpb246" + id}
	s.acted[id] = a
	r := s.must(channel)
	o := object{"id": id, "application_id": s.AppID, "type": kind, "data": data, "channel_id": channel, "channel": r.object(), "token": a.token, "version": 1,
		"entitlements": []object{}, "locale": "en-GB", "authorizing_integration_owners": object{}, "context": 0}
	if r.kind == typeDirect {
		o["user"], o["context"] = s.user(user), 1
	} else {
		member := s.memberObject(user)
		member["permissions"] = "0"
		o["member"], o["guild_id"] = member, GuildID
	}
	if message != nil {
		o["message"] = message
	}
	s.dispatch("INTERACTION_CREATE", o)
	s.Changed()
	return a
}

// callback takes the answer to an interaction, once.
func (s *Server) callback(c *call) (any, error) {
	var in struct {
		Type int `json:"type"`
		Data *struct {
			Text    string `json:"content"`
			Flags   int    `json:"flags"`
			Allowed struct {
				Parse []string `json:"parse"`
				Reply bool     `json:"replied_user"`
			} `json:"allowed_mentions"`
		} `json:"data"`
	}
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	a := s.acted[c.PathValue("interaction")]
	switch {
	case a == nil || a.token != c.PathValue("token"):
		return nil, refusal{404, 10062, "Unknown interaction"}
	case a.Answer != 0:
		return nil, refusal{400, 40060, "Interaction has already been acknowledged."}
	case in.Type == 4 && (in.Data == nil || in.Data.Text == "" || in.Data.Flags != 1<<6), in.Type != 4 && in.Type != 6:
		return nil, invalid("the answer to an interaction")
	}
	a.Answer = in.Type
	if in.Data != nil {
		a.Text = in.Data.Text
	}
	return nil, nil
}

// Commands are those of the application.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

func (s *Server) getCommands(c *call) (any, error) {
	if c.PathValue("app") != s.AppID {
		return nil, refusal{403, 20012, "You are not authorized to perform this action on this application"}
	}
	all := []object{}
	for i, one := range s.commands {
		all = append(all, object{"id": fmt.Sprint(i + 1), "application_id": s.AppID, "name": one.Name, "type": one.Type, "description": one.Description, "version": "1"})
	}
	return all, nil
}

var commandName = regexp.MustCompile(`^[-_a-z0-9]{1,32}$`)

// register makes a command, or changes the one of that name.
func (s *Server) register(c *call) (any, error) {
	var in Command
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	if c.PathValue("app") != s.AppID || !commandName.MatchString(in.Name) || in.Type != 1 || in.Description == "" || utf8.RuneCountInString(in.Description) > 100 {
		return nil, invalid("a command")
	}
	s.commands = append(slices.DeleteFunc(s.commands, func(one Command) bool { return one.Name == in.Name }), in)
	return object{"id": "1", "application_id": s.AppID, "name": in.Name, "type": 1, "description": in.Description, "version": "1"}, nil
}
