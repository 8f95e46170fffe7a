package bridge_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
)

// b64 is nothing: the secrets below are the forms of secrets.
func b64(n int) string { return strings.Repeat("MIIEvQIBADANBgkqhkiG9w0B", n/24+1)[:n] }

func pem(kind string) string {
	return "-----" + "BEGIN " + kind + "-----\n" + b64(64) + "\n" + b64(64) + "\n-----END " + kind + "-----\n"
}

func zipped(names ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, n := range names {
		f, _ := w.Create(n)
		f.Write([]byte("x"))
	}
	w.Close()
	return b.String()
}

func tarred(names ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		w.WriteHeader(&tar.Header{Name: n, Mode: 0o600, Size: 1})
		w.Write([]byte("x"))
	}
	w.Close()
	return b.String()
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func wide(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// secrets are files that must not leave, by name; letters are in no real key.
func secrets() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		".env", "app/.env", ".ENV", ".env.local", ".env.production", ".envrc", "id_rsa", "id_ed25519", "keys/id_ecdsa", ".ssh/work", "site.ppk",
		"cert.p12", "cert.PFX", "store.jks", "release.keystore", "passwords.kdbx", "old.kdb", ".aws/credentials", ".netrc", "_netrc", ".pgpass", ".my.cnf",
		".git-credentials", ".docker/config.json", ".kube/config", ".pypirc", ".vault-token", ".config/gcloud/credentials.db", "application_default_credentials.json",
		".azure/accessTokens.json", ".config/gh/hosts.yml", "rclone.conf", ".htpasswd", ".codex/auth.json", "etc/shadow", "longshore.yaml", "state/outbox.db",
	} {
		all[name] = "some words\n"
	}
	alnum := strings.Repeat("aB3dE5gH7jK9", 20)
	maps.Copy(all, map[string]string{
		"a.pem": pem("PRIVATE KEY"), "b.txt": pem("RSA PRIVATE KEY"), "c.key": pem("OPENSSH PRIVATE KEY"), "d.md": "my key:\n" + pem("EC PRIVATE KEY"),
		"e.asc": strings.Replace(pem("PGP PRIVATE KEY BLOCK"), "\n", "\nVersion: GnuPG v2\n\n", 1), "f.pem": strings.Replace(pem("RSA PRIVATE KEY"), "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1),
		"g.json": `{"private_key": "` + strings.ReplaceAll(pem("PRIVATE KEY"), "\n", `\n`) + `"}`, "h.txt": wide(pem("PRIVATE KEY")),
		"i.log": strings.Repeat("a line of a log\n", 100_000) + pem("PRIVATE KEY"),
		"j.txt": "PuTTY-User-Key-File-3: ssh-ed25519\r\nEncryption: none\r\n", "k.txt": "AGE-SECRET-KEY-1" + strings.ToUpper(alnum)[:58],
		"l.txt": "aws_secret_access_key = " + alnum[:40], "m.yaml": "    client-key-data: " + b64(80), "n.json": `{"auths": {"ghcr.io": {"auth": "` + b64(24) + `"}}}`,
		"o.txt": "AccountKey=" + b64(88), "p.txt": "token ghp" + "_" + alnum[:36], "q.txt": "xox" + "b-1234567890-1234567890-" + alnum[:24], "r.py": "key = 'sk-" + "ant-api03-" + alnum[:80] + "'",
		"s.npmrc": "//registry.npmjs.org/:_authToken=" + alnum[:36], "t.txt": "glpat" + "-" + alnum[:20],
		"u.sqlite": "SQLite format 3\x00" + "...CREATE TABLE moz_cookies (id)", "v.db": "SQLite format 3\x00...CREATE TABLE whatsmeow_device (jid)",
		"w.json": `{"noiseKey":{"private":{"type":"Buffer"}}}`,
		"x.zip":  zipped("site/index.html", "site/.env"), "y.tar": tarred("home/", "home/.ssh/id_rsa"), "z.tgz": gzipped(tarred("a.txt", ".aws/credentials")),
	})
	return all
}

// harmless are files that look a little like those.
func harmless() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		".env.example", ".env.sample", "environment.txt", "env", "id_rsa.pub", ".ssh/known_hosts", ".ssh/config", "credentials.md", "netrc.md", "config.json",
		"docker/config.json", "kube/config.yaml", "hosts.yml", "shadow.txt", "longshore.example.yaml", "outbox.txt", "password-policy.md", "keys.csv", "cookies.md", "token.go",
	} {
		all[name] = "some words\n"
	}
	maps.Copy(all, map[string]string{
		"README.md":  "A key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----, and between them stands what nobody else may read.\n",
		"howto.md":   "```\n-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n```\n",
		"server.crt": pem("CERTIFICATE"), "public.pem": pem("PUBLIC KEY"), "key.asc": pem("PGP PUBLIC KEY BLOCK"), "message.asc": pem("PGP MESSAGE"),
		"aws.md": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n", "github.md": "export T=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
		"npm.md": "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", "slack.md": "tokens begin with xoxb- or xoxp-\n", "claude.md": "set sk-ant-... in the environment\n",
		"docker.md": `{"auths": {}}`, "kube.md": "client-key-data: <base64>\n", "putty.md": "the file begins with PuTTY-User-Key-File-3\n",
		"notes.sqlite": "SQLite format 3\x00...CREATE TABLE notes (id)", "schema.sql": "CREATE TABLE cookies (id);", "wa.md": "noiseKey is a field",
		"site.zip": zipped("index.html", ".env.example", "img/a.png"), "src.tar": tarred("src/main.go", "src/id_rsa.pub"), "src.tgz": gzipped(tarred("README.md")), "broken.zip": "PK\x03\x04 and no more", "notes.gz": gzipped("words"),
	})
	return all
}

// TestASecretDoesNotLeave sends each secret in each way that a file can take.
func TestASecretDoesNotLeave(t *testing.T) {
	all := secrets()
	if len(all) < 60 {
		t.Fatalf("%d secrets", len(all))
	}
	names := slices.Sorted(maps.Keys(all))
	s := newSite(t)
	ways := map[string]func(name string) (folder string, r ipc.Request){
		"tool": func(name string) (string, ipc.Request) { return "family", file(s.write("family", name, all[name])) },
		"directive": func(name string) (string, ipc.Request) {
			r := file(s.write("family", name, all[name]))
			r.Batch = true
			return "family", r
		},
		"staged": func(name string) (string, ipc.Request) {
			staged := filepath.Join(s.layout.IPC("family", "files"), "0-"+strings.ReplaceAll(name, "/", "_"))
			check(t, os.WriteFile(staged, []byte(all[name]), 0o644))
			r := file("/workspace/ipc/files/" + filepath.Base(staged))
			r.Files[0].Name = name
			if strings.Contains(name, "/") {
				r.Files[0].Name, r.Files[0].Path = "", s.write("family", name, all[name])
			}
			return "family", r
		},
		"main": func(name string) (string, ipc.Request) {
			r := file(s.write("ops", name, all[name]))
			r.Chat = "mem:family"
			return "ops", r
		},
	}
	for way, make := range ways {
		for some := range slices.Chunk(names, 20) {
			var rs []ipc.Request
			folder := ""
			for _, name := range some {
				var r ipc.Request
				folder, r = make(name)
				rs = append(rs, r)
			}
			for i, f := range s.handle(folder, rs...) {
				if f.Refusal == nil || f.Refusal.Code != screen.Code {
					t.Errorf("%s: %s left: %+v", way, some[i], f)
				}
			}
		}
	}
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(all[name]), 0o644))
		if _, err := s.Offer(t.Context(), "family", file(path), bridge.OpenOwn); bridge.AsRefusal(err) == nil || bridge.AsRefusal(err).Code != screen.Code {
			t.Errorf("operator's send: %s left: %v", name, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(s.layout.Outbox(), "files"))
	check(t, err)
	if len(left) > 0 {
		t.Errorf("%d copies of refused files are kept", len(left))
	}
}

func TestHarmlessFilesLeave(t *testing.T) {
	all := harmless()
	if len(all) < 40 {
		t.Fatalf("%d harmless files", len(all))
	}
	s := newSite(t)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(all)), 20) {
		var rs []ipc.Request
		for _, name := range some {
			rs = append(rs, file(s.write("family", name, all[name])))
		}
		for i, f := range s.handle("family", rs...) {
			if !f.Accepted {
				t.Errorf("%s: %+v", some[i], f)
			}
		}
	}
}
