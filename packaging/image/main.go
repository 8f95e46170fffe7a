// Command image packs the host's image, which "docker load" and "podman load" read. It has
// two static programs, their licences, the certificates of authorities and nothing else:
// no shell, no package manager. The same inputs give the same bytes.
//
//	image OUT ROOT VERSION ARCH [CERTIFICATES]
//
// ROOT is what command deb has laid out. OUT is a gzipped archive in the form of "docker
// save" (https://github.com/moby/docker-image-spec, version 1.2). SOURCE_DATE_EPOCH is the
// date of all that is in it, in seconds.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// user is who the host runs as: nobody on any machine.
const user = 65532

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 4 || len(args) > 5 {
		return errors.New("usage: image OUT ROOT VERSION ARCH [CERTIFICATES]")
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	layer, err := layerOf(args[1], append(args[4:], "")[0], date)
	if err != nil {
		return err
	}
	config, err := configOf(layer, args[3], date)
	if err != nil {
		return err
	}
	name, version := sum(layer), strings.Map(tagRune, strings.TrimPrefix(args[2], "v"))
	manifest, err := json.Marshal([]map[string]any{{
		"Config": sum(config) + ".json", "RepoTags": []string{"longshore:" + version}, "Layers": []string{name + "/layer.tar"},
	}})
	if err != nil {
		return err
	}
	a := newArchive(date)
	a.file(sum(config)+".json", config, 0o644, 0)
	a.directory(name, 0o755, 0)
	a.file(name+"/layer.tar", layer, 0o644, 0)
	a.file("manifest.json", manifest, 0o644, 0)
	packed, err := a.end()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(packed); err != nil {
		return err
	}
	return errors.Join(z.Close(), os.WriteFile(args[0], out.Bytes(), 0o644))
}

// tagRune keeps what the tag of an image may have.
func tagRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
		return r
	}
	return '-'
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// layerOf is the image's files.
func layerOf(root, certificates string, date time.Time) ([]byte, error) {
	a := newArchive(date)
	for _, dir := range []string{"etc", "etc/longshore", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/longshore", "var", "var/lib"} {
		a.directory(dir, 0o755, 0)
	}
	a.directory("tmp", 0o1777, 0)
	a.directory("var/lib/longshore", 0o700, user)
	for _, dir := range []string{"usr/bin", "usr/share/doc/longshore"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := a.from(dir+"/"+e.Name(), filepath.Join(root, dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	if certificates != "" {
		if err := a.from("etc/ssl/certs/ca-certificates.crt", certificates); err != nil {
			return nil, err
		}
	}
	return a.end()
}

func configOf(layer []byte, arch string, date time.Time) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "created": date,
		"config": map[string]any{
			"User": strconv.Itoa(user) + ":" + strconv.Itoa(user), "WorkingDir": "/var/lib/longshore",
			"Entrypoint": []string{"/usr/bin/longshore"}, "Env": []string{"PATH=/usr/bin", "HOME=/var/lib/longshore"},
			"Labels": map[string]string{
				"org.opencontainers.image.source": "https://github.com/longshore-bridge/longshore", "org.opencontainers.image.licenses": "GPL-3.0-only AND Apache-2.0",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
		"history": []map[string]any{{"created": date, "created_by": "packaging/image"}},
	})
}

// archive is a tar whose first error counts.
type archive struct {
	b    bytes.Buffer
	t    *tar.Writer
	date time.Time
	err  error
}

func newArchive(date time.Time) *archive {
	a := &archive{date: date}
	a.t = tar.NewWriter(&a.b)
	return a
}

func (a *archive) add(h *tar.Header, data []byte) {
	h.ModTime, h.Format = a.date, tar.FormatUSTAR
	if a.err == nil {
		a.err = a.t.WriteHeader(h)
	}
	if a.err == nil {
		_, a.err = a.t.Write(data)
	}
}

func (a *archive) directory(name string, mode int64, owner int) {
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (a *archive) file(name string, data []byte, mode int64, owner int) {
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(data))}, data)
}

// from adds a file of this machine, executable if it is there.
func (a *archive) from(name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	mode := int64(0o644)
	if info.Mode()&fs.FileMode(0o100) != 0 {
		mode = 0o755
	}
	a.file(name, data, mode, 0)
	return err
}

func (a *archive) end() ([]byte, error) {
	if a.err == nil {
		a.err = a.t.Close()
	}
	return a.b.Bytes(), a.err
}
