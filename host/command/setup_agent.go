package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/setting"
)

// sampleLine is the assistant of setup.yaml.
const sampleLine = "  sample: { runtime: process, agent: sample }\n"

// setupAgent is the answers about the assistant.
type setupAgent struct {
	agent   string // empty: asked
	keyFile string
	model   string
	baseURL string
	boxed   bool   // in a container
	image   string // of it; empty: the usual one

	key   string // as it was typed or read
	typed bool
}

// cliKey are the variables of an agent CLI for one service.
type cliKey struct{ key, base string }

var (
	anthropicKey = cliKey{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}
	openAIKey    = cliKey{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	googleKey    = cliKey{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"}
)

// cliKeyOf are those of the agent that was chosen. It is false for the sample, and for
// agents that setup does not offer: those are a line in longshore.yaml.
func (s *setupAgent) cliKeyOf() (cliKey, bool) {
	if s.agent == "opencode" {
		return s.opencodeKey(), true
	}
	k, ok := map[string]cliKey{"claude": anthropicKey, "codex": openAIKey, "gemini": googleKey}[s.agent]
	return k, ok
}

// maxKey is the most that is read as a key, in bytes.
const maxKey = 16 << 10

// askAgent fills in which assistant it is and its key, and tries the key. terminal is the
// terminal to ask on; nil: there is none.
func (s *setup) askAgent(ctx context.Context, terminal *os.File, question func(string) (string, error)) (err error) {
	if s.agent == "" && terminal != nil {
		if s.agent, err = question("assistant: sample (needs nothing), claude, codex, gemini or opencode [sample]: "); err != nil {
			return err
		}
	}
	if s.image != "" && !s.boxed {
		return usage("--image is for an assistant in a container", "longshore setup --container --image "+s.image)
	}
	if s.agent == "" || s.agent == "sample" {
		s.agent = "sample"
		if s.boxed {
			return usage("--container needs an agent CLI", "longshore setup --container --agent claude")
		}
		return nil
	}
	if _, ok := s.cliKeyOf(); !ok {
		return usage(fmt.Sprintf("setup knows no assistant %q", s.agent), "choose sample, claude, codex, gemini or opencode; others go into longshore.yaml: docs/assistants.md")
	}
	if _, err := exec.LookPath(s.agent); err != nil && !s.boxed {
		return hinted(fmt.Errorf("the program %s is not in the PATH", s.agent), "install it, or begin with: longshore setup --agent sample")
	}
	if s.agent == "opencode" {
		if err := s.askOpencode(terminal, question); err != nil {
			return err
		}
	}
	if err := s.readKey(terminal); err != nil {
		return err
	}
	return s.tryKey(ctx)
}

// tryKey asks the service whether it takes the key, and has the model.
func (s *setup) tryKey(ctx context.Context) error {
	variables, _ := s.cliKeyOf()
	f := doctor.Probe(ctx, s.agent, config.Assistant{Agent: s.agent, Env: map[string]setting.Secret{
		variables.key: setting.NewSecret(s.key), variables.base: setting.NewSecret(s.baseURL), "LONGSHORE_MODEL": setting.NewSecret(s.model),
	}})
	switch f.Severity {
	case doctor.Fault:
		return &exitError{code: exitFailed, err: errors.New(f.Message), hint: "nothing is written; run setup again with a key, and a model, that the service has"}
	case doctor.Warning:
		s.note("the key could not be tried: %s", f.Message)
	default:
		s.note("%s", f.Message)
	}
	return nil
}

// readKey reads the key from the file that a flag names, or from the terminal.
func (s *setup) readKey(terminal *os.File) error {
	switch {
	case s.keyFile != "":
		path, err := filepath.Abs(s.keyFile)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxKey))
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		s.keyFile, s.key = path, strings.TrimSpace(string(text))
	case terminal != nil:
		fmt.Fprintf(s.stderr, "key for %s (it is not shown): ", s.agent)
		text, err := term.ReadPassword(int(terminal.Fd()))
		fmt.Fprintln(s.stderr)
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		s.key, s.typed = strings.TrimSpace(string(text)), true
	default:
		return usage("no --key-file given, and there is no terminal to ask", "longshore setup --agent "+s.agent+" --key-file FILE")
	}
	if !oneWord(s.key) {
		return usage("the key is empty, or not one word of ASCII", "give the key as the service shows it")
	}
	return nil
}

// putAgent writes the assistant into the configuration. A key that was typed goes into a
// file of its own beside it.
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

// checkContainer looks whether the engine answers and has the image.
func (s *setup) checkContainer(ctx context.Context, cfg *config.Config) error {
	if !s.boxed {
		return nil
	}
	engine, err := docker.Connect(ctx, s.getenv)
	if err != nil {
		return hinted(err, "see: docs/containers.md")
	}
	defer engine.Close()
	for _, missing := range doctor.Images(ctx, engine, cfg) {
		return hinted(errors.New(missing.Message), missing.Remedy)
	}
	return nil
}

// request is what setup asks the assistant for.
func (s *setup) request() string {
	if s.agent == "sample" {
		return "send me the report"
	}
	return "Write the file hello.txt with one line of greeting into your working directory, and send it to this chat with your tool send_file. Then say that it is sent."
}

// files is how many files the assistant sends then.
func (s *setup) files() int {
	if s.agent == "sample" {
		return 2
	}
	return 1
}
