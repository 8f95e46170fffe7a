// Command deb lays out the files of the Debian package below a directory, which dpkg-deb
// then packs: see packaging/dist. The same inputs give the same bytes.
//
//	deb ROOT LONGSHORE AGENTRUNNER NATIVE VERSION ARCH
//
// LONGSHORE and AGENTRUNNER are the programs to pack, and NATIVE is a longshore that this
// machine can run: it prints its own man pages and completions. SOURCE_DATE_EPOCH is the
// date of the package, in seconds (https://reproducible-builds.org/specs/source-date-epoch/).
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // the form of a package's md5sums
	"debug/buildinfo"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/longshore-bridge/longshore/host/service"
)

// files are the scripts and texts of the package; those in control/ go to DEBIAN.
//
//go:embed files
var files embed.FS

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "deb: %v\n", err)
		os.Exit(1)
	}
}

// layout is the tree of one package.
type layout struct {
	root, native string
	Version      string // in Debian's form
	Arch         string
	Size         int64 // KiB
	date         time.Time
}

// Date is the package's, as a changelog has it.
func (l *layout) Date() string { return l.date.Format(time.RFC1123Z) }

func run(args []string) error {
	if len(args) != 6 {
		return errors.New("usage: deb ROOT LONGSHORE AGENTRUNNER NATIVE VERSION ARCH")
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	l := &layout{root: args[0], native: args[3], Version: debianVersion(args[4]), Arch: args[5], date: time.Unix(seconds, 0).UTC()}
	for _, step := range []func() error{
		func() error { return l.copy(args[1], "usr/bin/longshore", 0o755) },
		func() error { return l.copy(args[2], "usr/bin/agentrunner", 0o755) },
		l.unit, l.manual, l.completions, l.documents,
		func() error { return l.licences(args[1], args[2]) },
		l.control,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// debianVersion is a version of git describe as dpkg orders it: v1.2.0-3-gabc becomes
// 1.2.0+3+gabc (deb-version(7)).
func debianVersion(v string) string {
	v = strings.NewReplacer("-", "+", "_", "+").Replace(strings.TrimPrefix(v, "v"))
	if v == "" || v[0] < '0' || v[0] > '9' {
		return "0~" + cmp.Or(v, "devel")
	}
	return v
}

func (l *layout) write(name string, data []byte, mode fs.FileMode) error {
	path := filepath.Join(l.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

// pack writes a file with gzip, without a name and a time.
func (l *layout) pack(name string, data []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return l.write(name+".gz", b.Bytes(), 0o644)
}

func (l *layout) copy(from, to string, mode fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return l.write(to, data, mode)
}

// unit is the service's, which an operator's own "longshore service install" goes before.
func (l *layout) unit() error {
	text, err := service.Service{
		Program: "/usr/bin/longshore", Config: "/etc/longshore/longshore.yaml", Write: []string{"/etc/longshore", "/var/lib/longshore"},
		Path: "/usr/local/bin:/usr/bin:/bin", System: true, User: "longshore",
	}.Unit()
	if err != nil {
		return err
	}
	return l.write("usr/lib/systemd/system/longshore.service", text, 0o644)
}

func (l *layout) manual() error {
	dir, err := os.MkdirTemp("", "longshore-man")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command(l.native, "man", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("longshore man: %w\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if err := l.pack("usr/share/man/man1/"+filepath.Base(page), text); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) completions() error {
	for shell, name := range map[string]string{
		"bash": "usr/share/bash-completion/completions/longshore", "zsh": "usr/share/zsh/vendor-completions/_longshore",
		"fish": "usr/share/fish/vendor_completions.d/longshore.fish",
	} {
		text, err := exec.Command(l.native, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("longshore completion %s: %w", shell, err)
		}
		if err := l.write(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) documents() error {
	for from, to := range map[string]string{
		"files/copyright": "usr/share/doc/longshore/copyright", "files/lintian-overrides": "usr/share/lintian/overrides/longshore",
		"files/README.Debian": "usr/share/doc/longshore/README.Debian",
	} {
		text, err := files.ReadFile(from)
		if err != nil {
			return err
		}
		if err := l.write(to, text, 0o644); err != nil {
			return err
		}
	}
	text, err := l.fill("files/changelog")
	if err != nil {
		return err
	}
	return l.pack("usr/share/doc/longshore/changelog", text)
}

func (l *layout) fill(name string) ([]byte, error) {
	t, err := template.ParseFS(files, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, l)
	return b.Bytes(), err
}

// licences writes the texts of the modules that the programs link, each text once.
func (l *layout) licences(programs ...string) error {
	modules := map[string]bool{}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path+"@"+m.Version] = true
		}
	}
	var names []string
	texts := map[string][]string{}
	for m := range modules {
		names = append(names, m)
	}
	slices.Sort(names)
	for _, m := range names {
		text, err := licenceOf(m)
		if err != nil {
			return fmt.Errorf("licence of %s: %w", m, err)
		}
		texts[text] = append(texts[text], m)
	}
	var b strings.Builder
	for _, m := range names {
		for text, all := range texts {
			if all[0] == m {
				fmt.Fprintf(&b, "==== %s\n\n%s\n\n", strings.Join(all, "\n==== "), text)
			}
		}
	}
	return l.pack("usr/share/doc/longshore/third-party", []byte(b.String()))
}

// licenceOf joins the licence files of a module, in its root.
func licenceOf(module string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", err
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(at.Dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") && !strings.HasPrefix(upper, "NOTICE") && !strings.HasPrefix(upper, "PATENTS") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(at.Dir, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if len(texts) == 0 {
		return "", errors.New("the module has none")
	}
	return strings.Join(texts, "\n\n----\n\n"), nil
}

// control writes what dpkg reads: it comes last, because it has sums and the size.
func (l *layout) control() error {
	var sums []string
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(l.root, path)
		sum := md5.Sum(data) //nolint:gosec // see above
		sums = append(sums, hex.EncodeToString(sum[:])+"  "+filepath.ToSlash(name)+"\n")
		l.Size += (int64(len(data)) + 1023) / 1024
		return err
	})
	if err != nil {
		return err
	}
	text, err := l.fill("files/control")
	if err == nil {
		err = l.write("DEBIAN/control", text, 0o644)
	}
	if err == nil {
		err = l.write("DEBIAN/md5sums", []byte(strings.Join(sums, "")), 0o644)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if err != nil {
			return err
		}
		if text, err = files.ReadFile("files/" + script); err == nil {
			err = l.write("DEBIAN/"+script, text, 0o755)
		}
	}
	return err
}
