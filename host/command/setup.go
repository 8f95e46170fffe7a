package command

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

//go:embed setup.yaml
var setupConfig []byte

// setup is one run of "setup": its answers.
type setup struct {
	*env
	group     string
	listen    string
	service   bool
	noService bool
	setupAgent
	setupChannel
	wrote []string // files, which a setup that fails removes
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

It asks for what no flag says; without a terminal the flags have to say everything, and
the assistant is the sample. With --channel it also links an account of that platform, as
"longshore pair" does, and with --chat makes one of its chats a group.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
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
	s.config = s.made()
	if _, err := os.Lstat(s.config); err == nil {
		return &exitError{code: exitRefused, err: fmt.Errorf("%s is there already; it is left as it is", s.config),
			hint: "for one more group: longshore groups add --help; to start the host: longshore serve"}
	}
	m := managerHere(s.getenv)
	if err := s.ask(ctx, m); err != nil {
		return err
	}
	if s.service {
		if err := m.here(); err != nil { // before anything is written
			return err
		}
	}
	if s.listen == "" {
		listen, err := pageAddress()
		if err != nil {
			return err
		}
		s.listen = listen
	}
	folder, err := s.write()
	if err != nil {
		return err
	}
	s.note("wrote %s", s.config)
	cfg, err := s.load()
	if err != nil {
		return err
	}
	err = s.checkContainer(ctx, cfg)
	if err == nil {
		err = s.link(ctx)
	}
	if err != nil {
		s.undo()
		s.note("removed %s again", s.config)
		return err
	}
	if !s.service {
		return s.serveAndTry(ctx, cfg, folder)
	}
	d, err := s.describeService(m)
	if err != nil {
		return err
	}
	text, err := m.text(d)
	if err != nil {
		return err
	}
	installer := *s.env
	if s.json { // one value, at the end
		installer.stdout = io.Discard
	}
	if err := installer.installService(ctx, m, text); err != nil {
		return err
	}
	return s.try(ctx, cfg, folder)
}

// note is for people only.
func (s *setup) note(format string, args ...any) {
	if !s.json {
		s.say(format, args...)
	}
}

// ask fills in the answers that no flag gives.
func (s *setup) ask(ctx context.Context, m manager) error {
	in, ok := s.stdin.(*os.File)
	asks := ok && term.IsTerminal(int(in.Fd()))
	if !asks {
		in = nil
	}
	lines := bufio.NewReader(s.stdin)
	question := func(text string) (string, error) {
		fmt.Fprint(s.stderr, text)
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("read the answer: %w", err)
		}
		return strings.TrimSpace(line), nil
	}
	if s.group == "" {
		if !asks {
			return usage("no --group given, and there is no terminal to ask", "longshore setup --group Family --no-service")
		}
		name, err := question("name of the first group: ")
		if err != nil {
			return err
		}
		s.group = name
	}
	if err := s.askAgent(ctx, in, question); err != nil {
		return err
	}
	if err := s.askChannel(in, question); err != nil {
		return err
	}
	if s.service || s.noService || m.here() != nil {
		return nil
	}
	if !asks {
		return usage("neither --service nor --no-service given, and there is no terminal to ask", "longshore setup --group Family --no-service")
	}
	answer, err := question("have the service manager run the host? [y/N] ")
	s.service = strings.HasPrefix(strings.ToLower(answer), "y")
	return err
}

// pageAddress is the usual address of the page, or one with a free port: one that stays
// the same at each start.
func pageAddress() (string, error) {
	ln, err := net.Listen("tcp", demoListen)
	if err != nil {
		ln, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// write makes the configuration, and returns the group's folder. Nothing is written that
// serve would not start with.
func (s *setup) write() (folder string, err error) {
	folder = groups.FolderOf(s.group)
	if folder == "" {
		return "", usage("the group's name has no letter or digit", "longshore setup --group Family")
	}
	text := bytes.Replace(setupConfig, []byte(`"`+demoListen+`"`), []byte(strconv.Quote(s.listen)), 1)
	if filepath.Clean(s.config) == systemConfig {
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
	cfg, err := config.Parse(s.config, text, s.getenv, s.platforms)
	if problems := wrongWith(cfg, err); len(problems) > 0 {
		s.printProblems("", problems)
		err = fmt.Errorf("these answers would make a configuration with %s; nothing is written", media.Count(len(problems), "problem"))
		return "", err
	}
	if err != nil {
		return "", err
	}
	if err = writeConfig(s.config, text, false); err == nil {
		s.wrote = append(s.wrote, s.config)
	}
	return folder, err
}

// serveAndTry runs the host until it is told to stop, or until the try went wrong.
func (s *setup) serveAndTry(ctx context.Context, cfg *config.Config, folder string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- s.serve(ctx, cfg)
		cancel()
	}()
	err := s.try(ctx, cfg, folder)
	if err != nil {
		asked := ctx.Err() != nil // the host ended, or the operator had enough
		cancel()
		if served := <-ended; asked {
			return served
		}
		return err
	}
	s.note("the host runs until ctrl-c; the next time: longshore serve")
	return <-ended
}

// tried is what "setup" says at the end.
type tried struct {
	Wrote string   `json:"wrote"`
	Page  string   `json:"page"`
	Files []string `json:"files"` // that arrived in the chat as the assistant wrote them
}

// try asks the assistant for its report as a member would, and checks each file.
func (s *setup) try(ctx context.Context, cfg *config.Config, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, demoTurn)
	defer cancel()
	m := member{base: "http://" + s.listen, chat: folder}
	asked, err := m.sayOnceUp(ctx, s.request())
	if err != nil {
		return hinted(fmt.Errorf("write to the chat: %w", err), "see: longshore why "+folder)
	}
	begin := time.Now()
	answer, err := m.wait(ctx, asked, s.files())
	if err != nil {
		return hinted(fmt.Errorf("wait for the files: %w", err), "see: longshore why "+folder)
	}
	end := tried{Wrote: s.config, Page: m.base + "/"}
	for _, msg := range answer {
		if msg.File == nil {
			continue
		}
		received, err := m.download(ctx, msg.File.URL)
		if err != nil {
			return fmt.Errorf("download %s: %w", msg.File.Name, err)
		}
		wrote, err := sumOfFile(cfg.Layout().Workspace(folder), msg.File.Name)
		if errors.Is(err, fs.ErrNotExist) && s.agent != "sample" { // it keeps its files where it likes
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
	return s.answer(end, func() error {
		s.say("the chat has %s, as the assistant wrote it (%.1f s)", strings.Join(end.Files, ", "), took)
		s.say("page: %s", end.Page)
		return nil
	})
}

// sayOnceUp posts a text as soon as the page answers.
func (m member) sayOnceUp(ctx context.Context, text string) (string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		id, err := m.say(ctx, text)
		if _, unreachable := errors.AsType[*net.OpError](err); err == nil || !unreachable {
			return id, err
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
