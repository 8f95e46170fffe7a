package screen

import (
	"regexp"
	"sync"
)

// armored is a key's base64 as it stands in a PEM file, after its headers, also in a string of
// JSON or of a program, in HTML, in a comment or in a quotation.
const armored = `(?:\\+(?:[rn]|u000[aAdD])|(?i:<br ?/?>|&#1[03];)|[\s>|#*/"'+,;])+(?:[A-Za-z-]+: [^\n]{0,200}\n)*\s*[A-Za-z0-9+/=]{40}`

// BuiltIn returns the rules that are in force unless the operator turns them off. The forms of
// tokens are those that their issuers document.
func BuiltIn() []Rule {
	return []Rule{
		{Name: "env-file", What: "a file of environment variables",
			ending: parts(`\.env(\.[^/]+)?|\.envrc`), except: later(`(?i)\.(example|sample|template|dist|defaults|schema)$`)},
		{Name: "ssh-key", What: "an SSH key",
			ending: parts(`id_(rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)`), name: later(`(?is)(\A|/)\.ssh/.`), // at any depth
			except: later(`(?i)(\.pub|/known_hosts|/authorized_keys|/config)$`)},
		{Name: "key-store", What: "a store of keys or passwords",
			ending: parts(`[^/]*\.(ppk|p12|pfx|jks|keystore|kdbx|kdb|keychain|keychain-db)`)},
		{Name: "credentials", What: "a store of credentials",
			ending: parts(`\.aws/credentials|[._]netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.docker/config\.json|\.kube/config|\.pypirc|\.vault-token|` +
				`\.config/gcloud/(credentials|access_tokens)\.db|application_default_credentials\.json|\.azure/(accesstokens|msal_token_cache)\.(json|bin)|` +
				`\.config/gh/hosts\.yml|rclone\.conf|\.terraformrc|\.htpasswd|\.claude/\.credentials\.json|\.codex/auth\.json|\.gemini/oauth_creds\.json|` +
				`opencode/auth\.json|etc/g?shadow`)},
		{Name: "own-state", What: "a part of this host's own state",
			ending: parts(`longshore\.ya?ml|outbox\.db|sender-key|longshore\.sock`)},
		{Name: "private-key", What: "a private key", marks: []string{"-----BEGIN "},
			content: later(`\A-----BEGIN (?:(?:[A-Z]+ )?PRIVATE KEY|PGP PRIVATE KEY BLOCK)-----` + armored)},
		{Name: "putty-key", What: "a private key", marks: []string{"PuTTY-User-Key-File-"},
			content: later(`\APuTTY-User-Key-File-[123]: \S+\s+Encryption: `)},
		{Name: "age-key", What: "a private key", marks: []string{"AGE-SECRET-KEY-1"},
			content: later(`\AAGE-SECRET-KEY-1[0-9A-Z]{58}`)},
		{Name: "cloud-key", What: "a cloud's key",
			marks:   []string{"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "AccountKey=", "client-key-data:", `"auths"`},
			content: later(`\A(?:(?i:aws_secret_access_key|SecretAccessKey)["']?\s*[=:]\s*["']?[A-Za-z0-9/+]{40}|AccountKey=[A-Za-z0-9+/=]{80}|client-key-data:\s*[A-Za-z0-9+/=]{64}|"auths"\s*:\s*\{\s*"[^"]+"\s*:\s*\{[^}]{0,500}"(?:auth|identitytoken)"\s*:\s*"[A-Za-z0-9+/=._-]{8,})`)},
		{Name: "token", What: "a token",
			marks: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "sk-ant-", "sk-proj-", "sk_live_", "rk_live_", "npm_", "_authToken", "pypi-AgEI", "hf_", "dop_v1_", "shpat_", "SG."},
			content: later(`\A(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60}|glpat-[A-Za-z0-9_-]{20}|xox[bp]-[0-9]{8,}-[A-Za-z0-9-]{20}|xapp-[0-9]-[A-Z0-9]{8,}-[A-Za-z0-9-]{20}|` +
				`sk-(?:ant|proj)-[A-Za-z0-9_-]{40}|[sr]k_live_[A-Za-z0-9]{24}|npm_[A-Za-z0-9]{36}|_authToken\s*=\s*["']?[A-Za-z0-9_-]{20}|pypi-AgEI[A-Za-z0-9_-]{50}|hf_[A-Za-z0-9]{34}|dop_v1_[a-f0-9]{64}|shpat_[a-fA-F0-9]{32}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})`)},
		{Name: "session-store", What: "a store of sessions or passwords", start: "SQLite format 3\x00",
			marks:   []string{"CREATE TABLE "},
			content: later(`\ACREATE TABLE (?:IF NOT EXISTS )?["']?(?:moz_cookies|cookies|logins|nssPrivate|whatsmeow_\w+)\b`)},
		{Name: "whatsapp-session", What: "a WhatsApp session", marks: []string{`"noiseKey"`},
			content: later(`\A"noiseKey"\s*:\s*\{\s*"private"`)},
	}
}

// parts compiles whole parts of a path, at most maxParts, in upper or lower case.
func parts(p string) expression { return later(`(?i)\A(?:` + p + `)\z`) }

// expression compiles itself when it is first used: a host that starts has no file to look at yet.
type expression func() *regexp.Regexp

func later(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
