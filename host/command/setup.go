package command

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/member"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

//go:embed setup.yaml
var setupConfig []byte

// setup is one run of "setup" with its answers.
type setup struct {
	*env
	terminal.Prompter
	manager   manager
	group     string
	listen    string
	service   bool
	noService bool
	setupAgent
	setupChannel
	wrote []string // the files that undo removes
}

func newSetup(e *env) *cobra.Command {
	s := &setup{env: e}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "write a first longshore.yaml, start the host, and see a file arrive",
		Long: `setup makes an installation with the chat page and one assistant, the sample or an agent
CLI: it tries the key, writes longshore.yaml, starts the host or has the service manager
do so, asks the assistant for a file as a member would, and compares the files on the
page with those that the assistant wrote. It never changes a longshore.yaml that is there.

It asks for what no flag says, and asks again with the reason if an answer does not do.
Without a terminal the flags have to say everything, and the assistant is the sample.
Ctrl-c ends it at every question. With --channel it also links an account of that platform, as
"longshore pair" does, and with --chat makes one of its chats a group.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.Prompter, s.manager = e.Prompter(), managerHere(e.getenv)
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&s.group, "group", "", "what people call the first group")
	cmd.Flags().StringVar(&s.listen, "listen", "", "`address` of the chat page (default "+demoListen+", or a free port)")
	cmd.Flags().StringVar(&s.agent, "agent", "", "the assistant: `sample`, claude, codex, gemini or opencode")
	cmd.Flags().BoolVar(&s.boxed, "container", false, "run the assistant in a container; its key stays with the host")
	cmd.Flags().StringVar(&s.image, "image", "", "another container `image` than longshore-agent:latest")
	cmd.Flags().StringVar(&s.keyFile, "key-file", "", "`file` with the assistant's key; it stays there, and longshore.yaml names it")
	cmd.Flags().StringVar(&s.model, "model", "", "the model; without it, the one that the CLI chooses. opencode needs it: PROVIDER/MODEL")
	cmd.Flags().StringVar(&s.baseURL, "base-url", "", "another `address` of the service, such as a gateway")
	cmd.Flags().StringVar(&s.channel, "channel", "", "a `platform` beside the chat page, which is linked")
	cmd.Flags().StringArrayVar(&s.secrets, "secret", nil, "`KEY=FILE` with a secret of the channel's account; may be repeated")
	cmd.Flags().StringVar(&s.chat, "chat", "", "a `chat` of the channel that becomes a group and gets the file")
	cmd.Flags().BoolVar(&s.service, "service", false, "have the service manager run the host")
	cmd.Flags().BoolVar(&s.noService, "no-service", false, "run the host here until ctrl-c")
	cmd.MarkFlagsMutuallyExclusive("service", "no-service")
	return cmd
}

func (s *setup) run(ctx context.Context) error {
	s.Config = s.made()
	if _, err := os.Lstat(s.Config); err == nil {
		return &terminal.Error{Code: terminal.ExitRefused, Err: fmt.Errorf("%s is there already; it is left as it is", s.Config),
			Hint: "for one more group: longshore groups add --help; to start the host: longshore serve"}
	}
	for _, ask := range []func(context.Context) error{s.askGroup, s.askAgent, s.askChannel, s.askService} {
		if err := ask(ctx); err != nil {
			return err
		}
	}
	if s.service {
		if err := s.manager.here(); err != nil { // before anything is written
			return err
		}
	}
	if s.listen == "" {
		var err error
		if s.listen, err = usualOrFree(demoListen); err != nil {
			return err
		}
	}
	cfg, folder, err := s.make(ctx)
	if err != nil {
		return err
	}
	if !s.service {
		return s.serveAndTry(ctx, cfg, folder)
	}
	d, err := s.describeService(s.manager)
	if err != nil {
		return err
	}
	text, err := s.manager.text(d)
	if err != nil {
		return err
	}
	installer := *s.env
	if s.JSON { // only the value at the end is printed
		installer.Stdout = io.Discard
	}
	if err := installer.installService(ctx, s.manager, text); err != nil {
		return err
	}
	return s.try(ctx, cfg, folder)
}

// make writes the configuration and links the channel's account. If the link fails, make removes the
// files and asks for the channel again.
func (s *setup) make(ctx context.Context) (cfg *config.Config, folder string, err error) {
	for {
		if folder, err = s.write(); err != nil {
			return nil, "", err
		}
		s.note("wrote %s", s.Config)
		if cfg, err = s.load(); err != nil {
			return nil, "", err
		}
		if err = s.link(ctx); err == nil {
			return cfg, folder, nil
		}
		s.undo()
		s.note("removed %s again", s.Config)
		if s.Final(ctx, err) {
			return nil, "", err
		}
		s.fail(err)
		chat := groups.JID(s.chat)
		s.setupChannel = setupChannel{usual: s.channel}
		if err = s.askChannel(ctx); err != nil {
			return nil, "", err
		}
		if s.platform != nil && s.platform.Owns(chat) {
			s.chat = string(chat)
		}
	}
}

// note prints a line for people only.
func (s *setup) note(format string, args ...any) {
	if !s.JSON {
		s.Say(format, args...)
	}
}

// until calls try, which asks for an answer, until it succeeds, and prints each failure. It returns an
// error that no other answer removes.
func (s *setup) until(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || s.Final(ctx, err) {
			return err
		}
		s.fail(err)
	}
}

func (s *setup) askGroup(ctx context.Context) error {
	return s.until(ctx, func() error {
		name, err := s.Given(ctx, &s.group, "name of the first group: ")
		switch folder := groups.FolderOf(name); {
		case err != nil:
			return err
		case name == "" && s.In == nil:
			return terminal.Usage("no --group given, and there is no terminal to ask", "longshore setup --group Family --no-service")
		case folder == "":
			return terminal.Usage("the group has no name", "give it one, such as Family")
		default:
			if err = mayAdd(s.layout(), nil, groups.Group{Folder: folder}, false); err == nil {
				s.group = name
			}
			return err
		}
	})
}

// layout returns the layout of the installation that write makes.
func (s *setup) layout() groups.Layout {
	if filepath.Clean(s.Config) == systemConfig {
		return groups.Layout{State: systemState}
	}
	return groups.Layout{State: filepath.Join(filepath.Dir(s.Config), "state")}
}

func (s *setup) askService(ctx context.Context) error {
	if s.service || s.noService || s.manager.here() != nil {
		return nil
	}
	if s.In == nil {
		return terminal.Usage("neither --service nor --no-service given, and there is no terminal to ask", "longshore setup --group Family --no-service")
	}
	return s.until(ctx, func() error {
		answer, err := s.Ask(ctx, "have the service manager run the host? [y/N] ")
		i := slices.Index([]string{"", "n", "no", "y", "yes"}, strings.ToLower(answer))
		if s.service = i > 2; err == nil && i < 0 {
			err = terminal.Usage(fmt.Sprintf("%q is neither yes nor no", answer), "answer y or n")
		}
		return err
	})
}

// operatorListen is the usual address of the operator's page.
const operatorListen = "127.0.0.1:8400"

// usualOrFree returns the usual address, or if it is taken one with a free port of loopback. It goes
// into longshore.yaml, so that it stays the same at each start.
func usualOrFree(usual string) (string, error) {
	ln, err := httpd.Listen(usual)
	if err != nil {
		ln, err = httpd.Listen("127.0.0.1:0")
	}
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// write writes the configuration and returns the group's folder. It writes nothing that serve would
// not start with.
func (s *setup) write() (folder string, err error) {
	folder = groups.FolderOf(s.group)
	operators, err := usualOrFree(operatorListen)
	if err != nil {
		return "", err
	}
	text := bytes.Replace(setupConfig, []byte(`"`+demoListen+`"`), []byte(strconv.Quote(s.listen)), 1)
	text = bytes.Replace(text, []byte(operatorListen), []byte(operators), 1)
	if filepath.Clean(s.Config) == systemConfig {
		text = bytes.Replace(text, []byte("state: state\n"), []byte("state: "+systemState+"\n"), 1)
	}
	defer func() {
		if err != nil {
			s.undo()
		}
	}()
	if text, err = s.putAgent(text); err != nil {
		return "", err
	}
	if text, err = s.putChannel(text); err != nil {
		return "", err
	}
	text, err = config.AddGroup(text, groups.Group{Name: s.group, Folder: folder, Chat: groups.JID("web:" + folder), Assistant: s.agent})
	if err != nil {
		return "", err
	}
	cfg, err := config.Parse(s.Config, text, s.getenv, s.platforms)
	if problems := wrongWith(cfg, err); len(problems) > 0 {
		s.printProblems("", problems)
		return "", fmt.Errorf("these answers would make a configuration with %s; nothing is written", media.Count(len(problems), "problem"))
	}
	if err != nil {
		return "", err
	}
	if err = writeConfig(s.Config, text, false); err == nil {
		s.wrote = append(s.wrote, s.Config)
	}
	return folder, err
}

// serveAndTry runs the host until ctx is done, or until try fails.
func (s *setup) serveAndTry(ctx context.Context, cfg *config.Config, folder string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- s.serve(ctx, cfg)
		cancel()
	}()
	if err := s.try(ctx, cfg, folder); err != nil {
		asked := ctx.Err() != nil // the host has ended, or the operator has stopped it
		cancel()
		if served := <-ended; asked {
			return served
		}
		return err
	}
	s.note("the host runs until ctrl-c; the next time: longshore serve")
	return <-ended
}

// tried is the output of "setup".
type tried struct {
	Wrote    string   `json:"wrote"`
	Page     string   `json:"page"`
	Operator string   `json:"operator_page,omitempty"` // an address that signs in one browser, once
	Files    []string `json:"files"`                   // the files that arrived as the assistant wrote them
}

// try asks the assistant for files as a member would, and compares each with what it wrote.
func (s *setup) try(ctx context.Context, cfg *config.Config, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, demoTurn)
	defer cancel()
	m := member.Member{Base: "http://" + s.listen, Chat: folder}
	asked, err := m.SayOnceUp(ctx, s.request())
	if err != nil {
		return terminal.Hinted(fmt.Errorf("write to the chat: %w", err), "see: longshore why "+folder)
	}
	begin := time.Now()
	answer, err := m.Wait(ctx, asked, s.files())
	if err != nil {
		return terminal.Hinted(fmt.Errorf("wait for the files: %w", err), "see: longshore why "+folder)
	}
	end := tried{Wrote: s.Config, Page: m.Base + "/"}
	for _, msg := range answer {
		if msg.File == nil {
			continue
		}
		received, err := m.Download(ctx, msg.File.URL)
		if err != nil {
			return fmt.Errorf("download %s: %w", msg.File.Name, err)
		}
		wrote, err := member.SumFile(cfg.Layout().Workspace(folder), msg.File.Name)
		if errors.Is(err, fs.ErrNotExist) && s.agent != "sample" { // an agent CLI may write elsewhere
			wrote, err = received, nil
		}
		if err != nil {
			return err
		}
		if received != wrote {
			return fmt.Errorf("%s: received %s, the assistant wrote %s", msg.File.Name, received, wrote)
		}
		end.Files = append(end.Files, msg.File.Name)
	}
	if err := s.addChat(ctx); err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	if page, err := operator.NewClient(operator.ControlDir(cfg.Layout())).PageURL(ctx); err == nil { // another user's host may refuse
		end.Operator = page.URL
	}
	return s.Answer(end, func() error {
		s.Say("the chat has %s, as the assistant wrote it (%.1f s)", strings.Join(end.Files, ", "), took)
		s.Say("page: %s", end.Page)
		if end.Operator != "" {
			s.Say("operator's page: %s (works once, within ten minutes; a new one: %s)", end.Operator, s.Command("page"))
		}
		return nil
	})
}
