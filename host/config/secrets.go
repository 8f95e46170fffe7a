package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// envReference is a value that is looked up in the environment.
var envReference = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// token reads a secret from its key or from the file that its key with _file names.
// A rejected secret becomes empty.
func (c *checker) token(key string, value *Secret, file string) {
	literal := *value
	*value = Secret{}
	c.secrets[key] = true
	switch {
	case file != "" && c.has(key):
		c.bad(key, "a secret and a file for it are both given", "leave one of the two out")
	case file != "":
		*value = c.readSecret(key+"_file", file)
	case c.has(key + "_file"):
		c.bad(key+"_file", "the path is empty", "name a file, or leave the key out")
	case c.has(key) && !envReference.MatchString(literal.Reveal()):
		c.bad(key, "a secret does not belong in the configuration file", "write ${NAME} and set that variable, or name a file with the key that ends in _file")
	case c.has(key):
		*value = c.expand(key, literal)
	}
}

// expand replaces a value that is ${NAME} as a whole. An unset variable is not an
// error of the file: the service's environment may have it.
func (c *checker) expand(key string, value Secret) Secret {
	match := envReference.FindStringSubmatch(value.Reveal())
	if match == nil {
		if strings.Contains(value.Reveal(), "${") {
			c.bad(key, "${ stands inside a longer value", "only a whole value can come from the environment: ${NAME} and nothing else")
		}
		return value
	}
	found := c.env(match[1])
	if found == "" {
		c.unset(key, match[1])
		return setting.UnsetSecret()
	}
	return c.plainSecret(key, found)
}

// maxSecret is the largest file a secret is read from, in bytes.
const maxSecret = 64 << 10

// readSecret is the content of the file at path, without the line's end.
func (c *checker) readSecret(key, path string) Secret {
	resolved, err := c.resolve(key, path)
	if err != nil {
		c.down(key, err.Error(), "correct the path or the rights on it")
		return setting.UnsetSecret()
	}
	c.secretFiles[key] = resolved
	text, wrong, hint := ReadSecret(resolved)
	if wrong != "" {
		c.down(key, wrong, hint)
		return setting.UnsetSecret()
	}
	return c.plainSecret(key, text)
}

// ReadSecret returns the text of a secret's file, or what is wrong with the file and what to do about it.
func ReadSecret(path string) (text, wrong, hint string) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Sprintf("the file cannot be read: %v", safefs.Reason(err)), "put the token into it, readable for the host's user only: chown " + strconv.Itoa(os.Geteuid()) + " and chmod 600"
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text = strings.TrimRight(string(b), "\r\n")
	if err != nil || text == "" || len(b) > maxSecret {
		return "", "the file holds no secret, or is larger than 64 KiB", "write the secret into it, on one line"
	}
	return text, "", ""
}

// secretsHidden rejects a secret's file, or a directory of backups, that a container can see.
func (c *checker) secretsHidden() {
	seen := c.seen()
	for _, key := range slices.Sorted(maps.Keys(c.secretFiles)) {
		if c.visible(c.secretFiles[key], seen) {
			c.bad(key, "a group's container would see this file", "keep secrets outside of the project directory and of every mount, such as in the state directory's store/")
		}
	}
	if dir := c.cfg.Backup.Directory; dir != "" && c.visible(dir, seen) {
		c.bad("backup.directory", "a group's container would see the backups, which hold the messages of all groups",
			"keep them outside of the project directory and of every mount, such as in the state directory's backups/")
	}
}

// seen returns the directories that containers see.
func (c *checker) seen() []string {
	seen := []string{c.cfg.Layout().Groups(), c.cfg.Layout().IPCDir()}
	if l := c.cfg.Layout(); l.V1 {
		seen = append(seen, l.Sessions())
	}
	for _, g := range c.cfg.Groups {
		if g.Main && c.cfg.Project != "" {
			seen = append(seen, c.cfg.Project)
		}
		for _, e := range g.Mounts {
			if e.Host != "" {
				seen = append(seen, e.Host)
			}
		}
	}
	return seen
}

// visible reports whether a path lies in one of the directories that containers see.
func (c *checker) visible(path string, seen []string) bool {
	return slices.ContainsFunc(seen, func(dir string) bool { return holds(dir, path) && !c.shadowed(path, dir) })
}

// shadowed reports whether file is hidden in main's view of the project directory.
func (c *checker) shadowed(file, dir string) bool {
	if dir != c.cfg.Project {
		return false
	}
	if file == filepath.Join(dir, ".env") {
		return true
	}
	return slices.ContainsFunc(c.cfg.Layout().Private(), func(private string) bool {
		_, inside := safefs.Below(private, file)
		return inside
	})
}

// plainSecret takes off what copying adds to a secret: ends of lines, blanks and marks around it.
// A secret with unseen characters or quotes that it cannot take off counts as unset.
func (c *checker) plainSecret(key, text string) Secret {
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(blanks+unseen, r) })
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	at := strings.IndexAny(text, blanks+unseen)
	switch {
	case text == "":
		c.down(key, "the secret is empty", "write it on one line")
	case at >= 0:
		r, _ := utf8.DecodeRuneInString(text[at:])
		c.down(key, fmt.Sprintf("the secret holds %U, a character that cannot be seen", r), "copy it again, without the text around it")
	case first > unicode.MaxASCII && strings.ContainsRune(quotes, first) || last > unicode.MaxASCII && strings.ContainsRune(quotes, last):
		c.down(key, "the secret stands in quotes", "leave them out")
	default:
		return setting.NewSecret(text)
	}
	return setting.UnsetSecret()
}
