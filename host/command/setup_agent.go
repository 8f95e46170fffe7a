package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// sampleLine is the assistant of setup.yaml.
const sampleLine = "  sample: { runtime: process, agent: sample }\n"

// setupAgent holds the answers about the assistant.
type setupAgent struct {
	agent   string // empty: it is asked for
	keyFile string
	model   string
	baseURL string
	boxed   bool   // in a container
	image   string // of the container; empty: the usual one

	key     string // as it was typed or read
	typed   bool   // the key was typed
	refused bool   // the service refused the model: another one is asked for
}

// cliKey names the variables of an agent CLI for one service.
type cliKey struct{ key, base string }

var (
	anthropicKey = cliKey{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}
	openAIKey    = cliKey{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	googleKey    = cliKey{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"}
)

// cliKeyOf returns the variables of the chosen agent; false for the sample, which has none.
func (s *setupAgent) cliKeyOf() (cliKey, bool) {
	if s.agent == "opencode" {
		return s.opencodeKey(), true
	}
	k, ok := map[string]cliKey{"claude": anthropicKey, "codex": openAIKey, "gemini": googleKey}[s.agent]
	return k, ok
}

// maxKey is the largest key or token, in bytes.
const maxKey = 16 << 10

// cliPackages returns npm's packages of the agent CLIs.
func cliPackages() map[string]string {
	return map[string]string{"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "gemini": "@google/gemini-cli", "opencode": "opencode-ai"}
}

// askAgent asks for the assistant, its model and its key, and tries the key.
func (s *setup) askAgent(ctx context.Context) error {
	if s.image != "" && !s.boxed {
		return terminal.Usage("--image is for an assistant in a container", "longshore setup --container --image "+s.image)
	}
	usual := "sample"
	err := s.until(ctx, func() error {
		name, err := s.Given(ctx, &s.agent, "assistant: sample (needs nothing), claude, codex, gemini or opencode ["+usual+"]: ")
		if name = cmp.Or(name, usual); err != nil {
			return err
		}
		if name != "sample" && cliPackages()[name] == "" {
			return terminal.Usage(fmt.Sprintf("setup knows no assistant %q", name), "choose sample, claude, codex, gemini or opencode; others go into longshore.yaml: docs/assistants.md")
		}
		usual = name
		if name == "opencode" && s.In == nil { // check the flags before the machine
			if err := s.askOpencode(ctx); err != nil {
				return err
			}
		}
		if err := s.checkProgram(ctx, name); err != nil {
			return err
		}
		s.agent = name
		return nil
	})
	if err != nil || s.agent == "sample" {
		return err
	}
	return s.until(ctx, func() error { return s.askKey(ctx) })
}

// checkProgram checks that the assistant can run here: that the CLI is in the PATH, or that engine and
// image are there.
func (s *setup) checkProgram(ctx context.Context, agent string) error {
	then := "; or begin with: longshore setup --agent sample"
	if s.In != nil {
		then = "; then press Enter, or name another assistant, or stop by ctrl-c"
	}
	switch {
	case agent == "sample" && s.boxed:
		return terminal.Usage("--container needs an agent CLI", "longshore setup --container --agent claude")
	case agent == "sample":
		return nil
	case !s.boxed:
		if _, err := exec.LookPath(agent); err != nil {
			return terminal.Hinted(fmt.Errorf("the program %s is not in the PATH", agent), "install it: npm install -g "+cliPackages()[agent]+then)
		}
		return nil
	}
	engine, err := docker.Connect(ctx, s.getenv)
	if err != nil {
		_, hint := exitOf(err)
		return terminal.Hinted(err, cmp.Or(hint, "see docs/containers.md")+then)
	}
	defer engine.Close()
	image := config.Assistant{Runtime: "docker", Agent: agent, Image: cmp.Or(s.image, "longshore-agent:latest")}
	for _, f := range doctor.Containers(ctx, engine, &config.Config{Groups: []groups.Group{{Assistant: agent}}, Assistants: map[string]config.Assistant{agent: image}}, "") {
		return terminal.Hinted(errors.New(f.Cause), f.Remedy+then)
	}
	return nil
}

// askKey asks for the model, if one is needed, and for the key, and tries both.
func (s *setup) askKey(ctx context.Context) (err error) {
	switch {
	case s.agent == "opencode":
		err = s.askOpencode(ctx)
	case s.refused:
		s.model, err = s.Ask(ctx, "model (empty: the one that "+s.agent+" chooses): ")
	}
	if err == nil && s.key == "" {
		err = s.readKey(ctx)
	}
	if err != nil {
		return err
	}
	return s.tryKey(ctx)
}

// tryKey asks the service whether it takes the key and has the model. If not, it forgets the one that
// the service refused.
func (s *setup) tryKey(ctx context.Context) error {
	variables, _ := s.cliKeyOf()
	f := doctor.Probe(ctx, s.agent, config.Assistant{Agent: s.agent, Env: map[string]setting.Secret{
		variables.key: setting.NewSecret(s.key), variables.base: setting.NewSecret(s.baseURL), "LONGSHORE_MODEL": setting.NewSecret(s.model),
	}})
	if err := ctx.Err(); err != nil {
		return err
	}
	s.refused = f.Severity == finding.Fault && f.Name == finding.Model
	switch {
	case f.Severity == finding.Fault:
		if s.refused {
			s.model = ""
		} else {
			s.key, s.keyFile = "", ""
		}
		return &terminal.Error{Code: terminal.ExitFailed, Err: errors.New(f.Cause), Hint: "nothing is written yet; give a key, and a model, that the service has"}
	case f.Severity == finding.Warning:
		s.note("the key could not be tried: %s", f.Cause)
	default:
		s.note("%s", f.Cause)
	}
	return nil
}

// readKey reads the key from the file that a flag names, or from the terminal.
func (s *setup) readKey(ctx context.Context) (err error) {
	file, key := s.keyFile, ""
	s.keyFile = "" // if this key is refused, the next one is typed
	switch {
	case file != "":
		if file, err = filepath.Abs(file); err == nil {
			key, err = readKeyFile(file)
		}
	case s.In != nil:
		key, err = s.Secret(ctx, "key for "+s.agent)
	default:
		err = terminal.Usage("no --key-file given, and there is no terminal to ask", "longshore setup --agent "+s.agent+" --key-file FILE")
	}
	if err == nil && !oneWord(key) {
		err = terminal.Usage("the key is empty, or not one word of ASCII", "give the key as the service shows it")
	}
	if err == nil {
		s.key, s.keyFile, s.typed = key, file, file == ""
	}
	return err
}

// readKeyFile returns the key in a file, without space around it.
func readKeyFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// putAgent writes the assistant into the text of the configuration. A typed key goes into a file.
func (s *setup) putAgent(text []byte) (_ []byte, err error) {
	variables, ok := s.cliKeyOf()
	if !ok {
		return text, nil
	}
	if s.typed {
		if s.keyFile, err = s.keep(strings.ToLower(variables.key), s.key); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	where := "process # with this user's rights; in a container: docs/containers.md"
	if s.boxed {
		where = "docker\n    keys: proxy # the key stays with the host: docs/assistants.md\n    network: none # bridge, if it needs the internet"
	}
	if s.image != "" {
		where += "\n    image: " + strconv.Quote(s.image)
	}
	fmt.Fprintf(&b, "  %s:\n    runtime: %s\n    agent: %s\n", s.agent, where, s.agent)
	fmt.Fprintf(&b, "    env_from_file: { %s: %s }\n", variables.key, strconv.Quote(s.keyFile))
	var env []string
	if s.baseURL != "" {
		env = append(env, variables.base+": "+strconv.Quote(s.baseURL))
	}
	if s.model != "" {
		env = append(env, "LONGSHORE_MODEL: "+strconv.Quote(s.model))
	}
	if len(env) > 0 {
		fmt.Fprintf(&b, "    env: { %s }\n", strings.Join(env, ", "))
	}
	return bytes.Replace(text, []byte(sampleLine), []byte(b.String()), 1), nil
}

// request returns the message that asks the assistant for files.
func (s *setup) request() string {
	if s.agent == "sample" {
		return "send me the report"
	}
	return "Write the file hello.txt with one line of greeting into your working directory, and send it to this chat with your tool send_file. Then say that it is sent."
}

// files returns how many files the assistant sends in answer to request.
func (s *setup) files() int {
	if s.agent == "sample" {
		return 2
	}
	return 1
}
