package groups

import "slices"

// Action is what an assistant may do in its chat beside sending.
type Action string

// The actions. docs/tools.md says which tools each has.
const (
	ActReact    Action = "react"
	ActEdit     Action = "edit"
	ActUnsend   Action = "unsend"
	ActAsk      Action = "ask"
	ActSchedule Action = "schedule"
	ActHistory  Action = "history" // and fetching the files of earlier messages
	ActRegister Action = "register"
)

// AllActions are all, in the order in which people read them.
var AllActions = []Action{ActReact, ActEdit, ActUnsend, ActAsk, ActSchedule, ActHistory, ActRegister}

// Actions are those that a group's assistant may use: words of AllActions, or all or
// none. The zero value is all.
type Actions []string

// UnmarshalText reads Actions that are one word; a list is read element by element.
func (a *Actions) UnmarshalText(text []byte) error {
	*a = Actions{string(text)}
	return nil
}

// ActionWords are the words that Actions takes.
func ActionWords() []string {
	words := []string{"all", "none"}
	for _, a := range AllActions {
		words = append(words, string(a))
	}
	return words
}

// Has says whether an action is among them.
func (a Actions) Has(one Action) bool {
	return len(a) == 0 || slices.Contains(a, "all") || slices.Contains(a, string(one))
}
