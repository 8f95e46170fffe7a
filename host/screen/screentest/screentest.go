// Package screentest has files that the screen keeps in, and others that it lets pass.
package screentest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"maps"
	"strings"
	"unicode/utf16"
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

// Secrets are at least 60 files that must not leave, by path, with their content. No letter is of a real key.
func Secrets() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		".env", "app/.env", ".ENV", ".env.local", ".env.production", ".envrc", "id_rsa", "id_ed25519", "keys/id_ecdsa", ".ssh/work", "site.ppk",
		"cert.p12", "cert.PFX", "store.jks", "release.keystore", "passwords.kdbx", "old.kdb", ".aws/credentials", ".netrc", "_netrc", ".pgpass", ".my.cnf",
		".git-credentials", ".docker/config.json", ".kube/config", ".pypirc", ".vault-token", ".config/gcloud/credentials.db", "application_default_credentials.json",
		".azure/accessTokens.json", ".config/gh/hosts.yml", "rclone.conf", ".htpasswd", ".codex/auth.json", "etc/shadow", "longshore.yaml", "state/longshore.db",
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
		"w.json":  `{"noiseKey":{"private":{"type":"Buffer"}}}`,
		"lsh.txt": "lsh" + "_0123456789abcdef_" + alnum[:43], "whsec.txt": "whsec" + "_" + alnum[:44], "telegram.txt": "1234567890" + ":AA" + alnum[:33],
		"google.txt": "AIza" + alnum[:35], "openai.txt": "sk-" + "svcacct-" + alnum[:80], "slack.txt": "xoxe" + "-1-" + alnum[:100],
		"safe.kdbx\u00ad": "some words\n", ".env\u200b": "some words\n", "\u202e.env.local": "some words\n", "zero.zip": zipped("a/.env\u200b"),
		"x.zip": zipped("site/index.html", "site/.env"), "y.tar": tarred("home/", "home/.ssh/id_rsa"), "z.tgz": gzipped(tarred("a.txt", ".aws/credentials")),
	})
	return all
}

// Harmless are at least 40 files that look a little like those, and leave.
func Harmless() map[string]string {
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
