package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/media"
)

// Provider is a further service of models that an assistant may use through the host.
type Provider struct {
	URL     string   `yaml:"url" required:"true" form:"url" help:"The service's address: https, or http on this machine's loopback."`
	Key     string   `yaml:"key_variable" required:"true" form:"variable" help:"The variable, in env or env_from_file, that has the key. The CLI gets another value there."`
	Address string   `yaml:"address_variable" required:"true" form:"variable" help:"The variable in which the CLI gets the address that it is to call."`
	Header  string   `yaml:"header" help:"The header in which the service wants the key."`
	Scheme  string   `yaml:"scheme" help:"The word before the key in that header."`
	Form    string   `yaml:"form" enum:"openai,anthropic,google" help:"Whose calls, answers and errors the service's are like."`
	Calls   []string `yaml:"calls" help:"The calls that pass, each a method and a path, such as POST /chat/completions. A * stands for letters, digits and . _ -. Without it, those of the form."`
}

// SetDefaults fills in what an absent key means.
func (p *Provider) SetDefaults() {
	*p = Provider{Header: "Authorization", Scheme: "Bearer", Form: "openai"}
}

// ProviderTools is what calls of the model may hold beside what is known to be harmless: all, or
// what Allow names.
type ProviderTools struct {
	All   bool     `yaml:"-"`
	Allow []string `yaml:"allow" form:"asked" help:"Keys at the top of a call, kinds of tool and models that pass, by their exact names."`
}

// UnmarshalText reads true or false.
func (p *ProviderTools) UnmarshalText(text []byte) error {
	if p.All = string(text) == "true"; !p.All && string(text) != "false" {
		return fmt.Errorf("%q is neither true nor false; write true, false, or {allow: [NAME]}", text)
	}
	return nil
}

// MarshalYAML writes it as UnmarshalText reads it, or as a block.
func (p ProviderTools) MarshalYAML() (any, error) {
	if len(p.Allow) > 0 {
		return map[string][]string{"allow": p.Allow}, nil
	}
	return p.All, nil
}

// Price is what a million tokens of a model cost.
type Price struct {
	Input   float64 `yaml:"input" min:"0" max:"100000" help:"US dollars for a million tokens that the model reads."`
	Cached  float64 `yaml:"cached" min:"0" max:"100000" help:"For those that it reads from the service's cache. 0: as input."`
	Written float64 `yaml:"written" min:"0" max:"100000" help:"For those that it writes to that cache. 0: as input."`
	Output  float64 `yaml:"output" min:"0" max:"100000" help:"For those that it answers."`
}

// Services are the services of models that the assistant has a key for.
func (a Assistant) Services() (all []keys.Provider) {
	for _, p := range keys.Known() {
		if _, ok := a.Env[p.Key]; ok {
			all = append(all, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Providers)) {
		own := a.Providers[name]
		p, err := keys.Custom(name, own.Form, own.Calls)
		if _, ok := a.Env[own.Key]; !ok || err != nil {
			continue
		}
		p.Key, p.Address, p.Usual, p.Header, p.Scheme = own.Key, own.Address, own.URL, own.Header, own.Scheme
		all = append(all, p)
	}
	return all
}

// HasModelKey reports whether the assistant's environment has a key that the proxy
// could keep.
func (a Assistant) HasModelKey() bool { return len(a.Services()) > 0 }

// Budget is what the calls of a group may use; zero if nothing counts them.
func (c *Config) Budget(g groups.Group) keys.Budget {
	if c.Assistants[g.Assistant].Keys != "proxy" {
		return keys.Budget{}
	}
	g = c.Purse(g)
	b, key := g.Budget, "budget of group "+g.Folder
	if !b.Limited() {
		b, key = c.Limits.Budget, "limits.budget"
	}
	return keys.Budget{Tokens: b.Tokens, Cost: keys.NanosOf(b.USD), Month: b.Per == "month", Zone: c.Zone(g), Key: key}
}

// Purse is the group whose budget a group spends: the one that has registered it, unless it
// has a budget of its own, or else itself.
func (c *Config) Purse(g groups.Group) groups.Group {
	i := slices.IndexFunc(c.Groups, func(maker groups.Group) bool { return maker.Folder == g.RegisteredBy })
	if i < 0 || g.Budget.Limited() {
		return g
	}
	return c.Groups[i]
}

// ModelPrices are the prices of models.
func (c *Config) ModelPrices() keys.Prices {
	all := keys.Prices{}
	for name, p := range c.Prices {
		all[name] = keys.Price(p)
	}
	return all
}

// otherKeys are credentials of models that the proxy does not know. They would lie
// in the container.
var otherKeys = []string{
	"CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
	"OPENROUTER_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK",
}

// keys refuses keys: proxy if it would not keep the key from the assistant.
func (c *checker) keys(key string, a Assistant) {
	at := key + ".keys"
	if a.Runtime != "docker" && a.Runtime != OverSSH {
		c.bad(at, "without a container or another machine the assistant can read the host's memory and files, so the proxy would keep nothing from it",
			"set runtime: docker or ssh, or keys: inside")
	}
	if a.Runtime == "docker" && c.cfg.Style == "v1" {
		c.bad(at, "v1's image does not know the proxy", "set keys: inside, or leave layout: v1 out")
	}
	if a.Network == "host" {
		c.bad(at, "on network: host one group's assistant would reach another's proxy", "set network: none, or keys: inside")
	}
	c.providers(key, a)
	services := a.Services()
	for _, name := range otherKeys {
		kept := slices.ContainsFunc(services, func(p keys.Provider) bool { return p.Key == name })
		if _, ok := a.Env[name]; ok && !kept {
			c.bad(key+".env."+name, "the proxy cannot keep this credential on the host", "use ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or set keys: inside")
		}
	}
	for i, p := range services {
		if i > 0 && p.Prefix == services[i-1].Prefix {
			c.bad(at, p.Key+" and "+services[i-1].Key+" are for the same service", "leave one of the two out")
		}
		if _, own := a.Env[p.Address]; own {
			c.upstream(key+".env."+p.Address, a.Env[p.Address].Reveal())
		}
	}
	if len(services) == 0 {
		c.bad(at, "there is no key for the proxy to keep", "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in env or env_from_file, or keys: inside")
	}
	if _, ok := a.Env["OPENAI_API_KEY"]; a.Agent == "opencode" && !ok {
		c.bad(at, "through the proxy, opencode speaks to an OpenAI address only", "set OPENAI_API_KEY and LONGSHORE_MODEL, or keys: inside")
	}
}

// providers checks the services that the operator describes.
func (c *checker) providers(key string, a Assistant) {
	for name, p := range a.Providers {
		at := key + ".providers." + name
		c.upstream(at+".url", p.URL)
		if err := keys.CheckHeader(p.Header, p.Scheme); err != nil {
			c.bad(at+".header", fmt.Sprintf("%q %v", p.Header, err), "write it as the service's documentation does, such as header: X-Api-Key with scheme: \"\"")
		}
		if _, err := keys.Custom(name, p.Form, p.Calls); err != nil {
			c.bad(at+".calls", err.Error(), "write it as POST /chat/completions, behind the path of url")
		}
		if _, ok := a.Env[p.Key]; !ok && p.Key != "" {
			c.bad(at+".key_variable", p.Key+" is not set", "add it to env or env_from_file")
		}
		if _, ok := a.Env[p.Address]; ok {
			c.bad(at+".address_variable", p.Address+" is set in env too", "leave it out of env: the host sets it")
		}
		for _, known := range keys.Known() {
			for at, variable := range map[string]string{at + ".key_variable": p.Key, at + ".address_variable": p.Address} {
				if variable != "" && (variable == known.Key || variable == known.Address) {
					c.bad(at, variable+" needs no entry here", "set it in env; the host knows this service")
				}
			}
		}
	}
}

// ownKeys refuses a key of one group's own that another group could use, too.
func (c *checker) ownKeys() {
	users, holders := map[string]int{}, map[string][]string{}
	for _, g := range c.cfg.Groups {
		users[g.Assistant]++
	}
	for name, a := range c.cfg.Assistants {
		for _, p := range a.Services() {
			holders[a.Env[p.Key].Reveal()] = append(holders[a.Env[p.Key].Reveal()], name)
		}
	}
	for name, a := range c.cfg.Assistants {
		key := "assistants." + name + ".own_key"
		switch {
		case !a.OwnKey:
			continue
		case a.Keys != "proxy":
			c.bad(key, "only the host's proxy asks for it", "set keys: proxy, or leave own_key: out")
		case users[name] > 1:
			c.bad(key, fmt.Sprintf("%d groups have this assistant, and its key", users[name]), "make an assistant with a key of its own for each group, or leave own_key: out")
		}
		for _, p := range a.Services() {
			if value := a.Env[p.Key].Reveal(); value != "" && len(holders[value]) > 1 {
				c.bad(key, "another assistant has the same key", "get a key of its own from the service, in a project of its own, or leave own_key: out")
			}
		}
	}
}

// budgets refuses budgets that nothing would count.
func (c *checker) budgets() {
	for i, g := range c.cfg.Groups {
		key := fmt.Sprintf("groups[%d].budget", i)
		a, ok := c.cfg.Assistants[g.Assistant]
		if g.Budget.Limited() && ok && a.Keys != "proxy" {
			c.bad(key, "only the host counts what calls of the model use, and this group's assistant calls it by itself", "set keys: proxy for the assistant, or leave budget: out")
		}
		if g.Budget.USD > 0 && len(c.cfg.Prices) == 0 {
			c.bad(key+".usd", "no model has a price", "add prices:, see docs/configuration.md")
		}
	}
	c.uncounted()
	if c.cfg.Limits.Budget.USD > 0 && len(c.cfg.Prices) == 0 {
		c.bad("limits.budget.usd", "no model has a price", "add prices:, see docs/configuration.md")
	}
}

// uncounted warns of groups that limits.budget does not limit.
func (c *checker) uncounted() {
	var folders []string
	for _, g := range c.cfg.Groups {
		if a := c.cfg.Assistants[g.Assistant]; c.cfg.Limits.Budget.Limited() && a.Keys != "proxy" && a.Agent != "sample" && a.Agent != "" {
			folders = append(folders, g.Folder)
		}
	}
	if len(folders) > 0 {
		c.warn("limits.budget", "it does not limit "+media.Cut(strings.Join(folders, ", "), 200)+": the assistants there call the model by themselves", "set keys: proxy for them")
	}
}

// upstream checks the address to which the host would send a key.
func (c *checker) upstream(key, address string) {
	if address == "" {
		return
	}
	if _, err := keys.ParseURL(address); err != nil {
		c.bad(key, fmt.Sprintf("%q %v", address, err), "write https://HOST/PATH; http only for 127.0.0.1 or [::1]")
	}
}
