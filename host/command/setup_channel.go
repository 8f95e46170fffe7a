package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/near"
)

// pageLine is the line of setup.yaml below which the channel is written.
const pageLine = "channels:\n"

// setupChannel holds the answers about a channel beside the chat page.
type setupChannel struct {
	channel string   // key of its platform, or "none"; empty: it is asked for
	secrets []string // KEY=FILE each
	chat    string   // the chat that becomes a group of its own
	usual   string   // the channel that an empty answer means; empty: none

	platform channel.Linker    // nil: the page alone
	kept     map[string]string // the files with secrets, by key
	typedIn  map[string]string // the typed secrets, by key
}

// secretKeys returns the keys of a platform's settings that hold secrets.
func secretKeys(s channel.Settings) (keys []string) {
	of := reflect.TypeOf(s).Elem()
	for i := range of.NumField() {
		if f := of.Field(i); f.Type == reflect.TypeFor[setting.Secret]() {
			keys = append(keys, f.Tag.Get("yaml"))
		}
	}
	return keys
}

// askChannel asks for the channel beside the page and for the secrets of its account.
func (s *setup) askChannel(ctx context.Context) error {
	var offered []string
	known := linkers(s.platforms)
	for _, p := range known {
		offered = append(offered, p.Key())
	}
	usual := cmp.Or(s.usual, "none")
	err := s.until(ctx, func() error {
		name, err := s.Given(ctx, &s.channel, "channel beside the chat page: none, "+strings.Join(offered, ", ")+" ["+usual+"]: ")
		if name = cmp.Or(name, usual); err != nil || name == "none" {
			return err
		}
		i := slices.Index(offered, name)
		if i < 0 {
			return terminal.Usage(fmt.Sprintf("setup knows no channel %q", name), near.Hint(name, offered, "choose none, "+strings.Join(offered, ", ")))
		}
		s.channel, s.platform = name, known[i]
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.platform == nil && (s.chat != "" || len(s.secrets) > 0):
		return terminal.Usage("--chat and --secret are of a --channel, and none is given", "longshore setup --channel "+offered[0])
	case s.platform == nil:
		return nil
	case s.chat != "" && !s.platform.Owns(groups.JID(s.chat)):
		return terminal.Usage(fmt.Sprintf("%q is no chat of %s", s.chat, s.channel), "leave --chat out; longshore groups list --channel "+s.channel+" shows the chats afterwards")
	}
	return s.askSecrets(ctx)
}

// askSecrets takes the secrets of the channel's account from the files that flags name, or asks for
// them.
func (s *setup) askSecrets(ctx context.Context) error {
	s.kept, s.typedIn = map[string]string{}, map[string]string{}
	keys := secretKeys(s.platform.Settings())
	for _, given := range s.secrets {
		key, file, ok := strings.Cut(given, "=")
		if !ok || !slices.Contains(keys, key) {
			return terminal.Usage(fmt.Sprintf("--secret %s names no secret of %s", key, s.channel), "write KEY=FILE, with KEY one of "+strings.Join(keys, ", "))
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		s.kept[key] = path
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return s.kept[key] != "" })
	if guide := s.platform.Guide(s.channel); guide != "" && len(keys) > 0 {
		fmt.Fprintln(s.Stderr, guide)
	}
	for _, key := range keys {
		if s.In == nil {
			return terminal.Usage("no --secret "+key+"=FILE given, and there is no terminal to ask", "put it into a file of yours with mode 0600, and name that file")
		}
		err := s.until(ctx, func() (err error) {
			if s.typedIn[key], err = s.Secret(ctx, key+" of "+s.channel); err == nil && !oneWord(s.typedIn[key]) {
				err = terminal.Usage(key+" is empty, or not one word of ASCII", "give it as the platform shows it")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oneWord reports whether a text can be a key or a token: printable ASCII without space.
func oneWord(text string) bool {
	return text != "" && len(text) <= maxKey && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// keep writes a typed secret into a new file in the directory secrets beside the configuration.
func (s *setup) keep(name, text string) (path string, err error) {
	dir, err := filepath.Abs(filepath.Dir(s.Config))
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "secrets", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("keep a secret: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", terminal.Hinted(fmt.Errorf("keep a secret: %w", err), "name the file that is there by a flag, or move it away")
	}
	s.wrote = append(s.wrote, path)
	_, err = io.WriteString(f, text+"\n")
	return path, errors.Join(err, f.Sync(), f.Close())
}

// undo removes what this setup has written.
func (s *setup) undo() {
	for _, path := range s.wrote {
		os.Remove(path)
	}
	s.wrote = nil
}

// putChannel writes the channel into the text of the configuration.
func (s *setup) putChannel(text []byte) ([]byte, error) {
	if s.platform == nil {
		return text, nil
	}
	var lines []string
	for _, key := range secretKeys(s.platform.Settings()) {
		file := s.kept[key]
		if typed, ok := s.typedIn[key]; ok {
			var err error
			if file, err = s.keep(s.channel+"_"+key, typed); err != nil {
				return nil, err
			}
		}
		lines = append(lines, key+"_file: "+strconv.Quote(file))
	}
	return bytes.Replace(text, []byte(pageLine), []byte(pageLine+"  "+s.channel+": { "+strings.Join(lines, ", ")+" }\n"), 1), nil
}

// link links the channel's account, as "longshore pair" does.
func (s *setup) link(ctx context.Context) error {
	if s.platform == nil {
		return nil
	}
	p := &pairing{env: s.env, platform: s.platform}
	if s.platform.Account().Scan == "" { // an account that scans a code cannot send before the host runs
		p.to = groups.JID(s.chat)
	}
	if s.JSON { // only the value at the end goes to stdout
		quiet := *s.env
		quiet.Stdout = s.Stderr
		p.env = &quiet
	}
	return p.run(ctx, nil)
}

// addChat makes the chat a group of the running host, and sends a file there if link has not.
func (s *setup) addChat(ctx context.Context) error {
	if s.platform == nil {
		return nil
	}
	if s.chat == "" {
		s.note("next, for a chat of %s: %s, then %s", s.channel, s.Command("groups", "list", "--channel", s.channel), s.Command("groups", "add", "CHAT", "--assistant", s.agent))
		return nil
	}
	folder := groups.FolderOf(s.group) + "-" + s.channel
	if err := mayAdd(s.layout(), nil, groups.Group{Folder: folder}, false); err != nil {
		return err
	}
	err := s.also(ctx, "groups", "add", s.chat, "--channel", s.channel, "--name", s.group+" on "+s.channel, "--folder", folder, "--assistant", s.agent)
	if err == nil && s.platform.Account().Scan != "" {
		err = s.sendHello(ctx, folder)
	}
	if err == nil {
		s.note("the chat %s of %s has a file, too", s.chat, s.channel)
	}
	return err
}

// also runs another command of this program.
func (s *setup) also(ctx context.Context, args ...string) error {
	e := &env{Terminal: terminal.Terminal{Stdin: s.Stdin, Stdout: s.Stderr, Stderr: s.Stderr}, getenv: s.getenv, version: s.version, platforms: s.platforms}
	if code := e.run(ctx, append([]string{"-c", s.Config}, args...)); code != terminal.ExitOK {
		return &terminal.Error{Code: code, Err: fmt.Errorf("longshore %s ended with exit code %d", args[0], code)}
	}
	return nil
}

func (s *setup) sendHello(ctx context.Context, folder string) error {
	dir, err := os.MkdirTemp("", "longshore-setup-")
	if err != nil {
		return fmt.Errorf("make a file to send: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.txt")
	if err := os.WriteFile(file, []byte("Longshore is set up, and "+s.agent+" answers in this chat.\n"), 0o600); err != nil {
		return fmt.Errorf("make a file to send: %w", err)
	}
	return s.also(ctx, "send", file, "--group", folder)
}
