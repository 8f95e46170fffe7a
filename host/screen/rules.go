package screen

import (
	"regexp"
	"sync"
)

// apart separates the lines of a PEM file, also in a string of JSON or of a program, in HTML, in a
// comment or in a quotation, with any spaces. A byte that is no UTF-8, such as Latin 1's, counts too.
const apart = `(?:\\+(?:[rn]|u000[aAdD]|u00[aA]0)|(?i:<br ?/?>|&#1[03];|&nbsp;|&#160;|&#xa0;)|[\s\p{Z}\p{Cf}\x{FFFD}>|#*/"'+,;])`

// armored is a key's base64 as it stands in a PEM file, after its headers and comments.
const armored = apart + `+(?:(?:[A-Za-z-]{1,40}:|#|//|;) ?[^\n]{0,200}?(?:\n|\\+[rn])` + apart + `*)*([A-Za-z0-9+/=]{40})`

// given is what stands between the name of a setting and its value.
const given = `["'\\]{0,4}\s{0,8}[=:>,]{1,2}\s{0,8}["'\\]{0,4}`

// ownSecret is the rule whose marks are the secrets of the host's configuration.
const ownSecret = "own-secret"

// MinOwn is how many bytes a secret of the host's has at least that is looked for. A shorter one may be
// a word, and an assistant could find it out by sending guesses.
const MinOwn = 16

// BuiltIn returns the rules that are in force unless the operator turns them off. The forms of
// tokens are those that their issuers document.
func BuiltIn() []Rule {
	return []Rule{
		{Name: "env-file", What: "a file of environment variables",
			extensions: []string{"env", "env~", "env#"}, ending: parts(`#?\.env(rc|[._-][^/]+)?[~#]?`),
			except: later(`(?i)([._-](example|sample|template|dist|defaults|schema)|(\A|/)(example|sample|template|dist|defaults|schema)\.env)$`)},
		{Name: "ssh-key", What: "an SSH key",
			ending: parts(`#?id_(rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)(\.(bak|backup|old|orig|save))?[~#]?`), directory: ".ssh",
			except: later(`(?i)(\.pub|/known_hosts|/authorized_keys|/config)$`)},
		{Name: "key-store", What: "a store of keys or passwords",
			extensions: []string{"ppk", "p12", "pfx", "jks", "keystore", "kdbx", "kdb", "keychain", "keychain-db"}},
		{Name: "credentials", What: "a store of credentials",
			ending: parts(`\.aws/credentials|[._]netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.docker/config\.json|\.kube/config|\.pypirc|\.vault-token|` +
				`\.config/gcloud/(credentials|access_tokens)\.db|application_default_credentials\.json|\.azure/(accesstokens|msal_token_cache)\.(json|bin)|` +
				`\.config/gh/hosts\.yml|rclone\.conf|\.terraformrc|\.htpasswd|\.claude/\.credentials\.json|\.codex/auth\.json|\.gemini/oauth_creds\.json|` +
				`opencode/auth\.json|etc/g?shadow`)},
		{Name: "own-state", What: "a part of this host's own state",
			ending: parts(`longshore\.ya?ml|(longshore|whatsapp/whatsapp)\.db(-wal|-shm|-journal)?|audit/key|longshore\.sock`)},
		{Name: "own-database", What: "a database of this host's own state", start: "SQLite format 3\x00", // see host/store
			marks: []string{"CREATE TABLE longshore_store "}},
		{Name: ownSecret, What: "a secret of this host's configuration"},
		{Name: "private-key", What: "a private key", marks: []string{"-----BEGIN "},
			content: later(`\A-----BEGIN (?:(?:[A-Z0-9]+ ){0,3}PRIVATE KEY|PGP PRIVATE KEY BLOCK)-----` + armored)},
		{Name: "der-key", What: "a private key", der: true},
		{Name: "jwk", What: "a private key", marks: []string{`"d"`, `"k"`}, beside: `"kty"`,
			content: later(`\A"[dk]"\s{0,40}:\s{0,40}"([A-Za-z0-9_-]{20,})`)},
		{Name: "putty-key", What: "a private key", marks: []string{"PuTTY-User-Key-File-"},
			content: later(`\APuTTY-User-Key-File-[123]: \S+\s+Encryption: `)},
		{Name: "age-key", What: "a private key", marks: []string{"AGE-SECRET-KEY-1"},
			content: later(`\AAGE-SECRET-KEY-1[0-9A-Z]{58}`)},
		{Name: "cloud-key", What: "a cloud's key", fold: true,
			marks: []string{"secretaccesskey", "secret_access_key", "secret-access-key", "AccountKey", "client-key-data"},
			content: later(`\A(?:(?i:secret[_-]?access[_-]?key)` + given + `([A-Za-z0-9/+]{40})|(?i:AccountKey)` + given + `[A-Za-z0-9+/=]{80}|` +
				`(?i:client-key-data)` + given + `[A-Za-z0-9+/=]{64})`)},
		{Name: "registry-login", What: "a login of a registry", marks: []string{`"auth"`, `"identitytoken"`}, beside: `"auths"`,
			content: later(`\A"(?:auth|identitytoken)"\s{0,40}:\s{0,40}"([A-Za-z0-9+/=._-]{8,})`)},
		{Name: "token", What: "a token",
			marks: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "sk_live_", "rk_live_", "npm_", "_authToken", "pypi-AgEI", "hf_", "dop_v1_", "shpat_", "SG.", "whsec_", "lsh_"},
			content: later(`\A(gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60}|glpat-[A-Za-z0-9_-]{20}|xox[abprs]-[0-9]{8,}-[A-Za-z0-9-]{20}|xoxe(?:\.xox[bp])?-[0-9]{1,2}-[A-Za-z0-9-]{40}|xapp-[0-9]-[A-Z0-9]{8,}-[A-Za-z0-9-]{20}|` +
				`[sr]k_live_[A-Za-z0-9]{24}|npm_[A-Za-z0-9]{36}|_authToken\s*=\s*["']?[A-Za-z0-9_-]{20}|pypi-AgEI[A-Za-z0-9_-]{50}|hf_[A-Za-z0-9]{34}|dop_v1_[a-f0-9]{64}|shpat_[a-fA-F0-9]{32}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|` +
				`whsec_[A-Za-z0-9+/]{32,}|lsh_[0-9a-f]{16}_[A-Za-z0-9_-]{43})`)},
		{Name: "model-key", What: "a key of a model's service", word: true,
			marks: []string{"sk-", "AIza", "AQ.Ab", "GOCSPX-", "gsk_", "xai-", "pplx-"},
			content: later(`\A(sk-(?:ant|proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{32,}|sk-[A-Za-z0-9]{32,}|AIza[A-Za-z0-9_-]{35}|AQ\.Ab[A-Za-z0-9_-]{40,}|` +
				`GOCSPX-[A-Za-z0-9_-]{28}|gsk_[A-Za-z0-9]{50,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,})`)},
		{Name: "ntfy-token", What: "a token", word: true, marks: []string{"tk_"}, content: later(`\Atk_[a-z0-9]{29}(?:[^A-Za-z0-9_]|\z)`)},
		{Name: "telegram-token", What: "a token of a bot", marks: []string{":A"}, digits: 5,
			content: later(`\A:A[A-Za-z0-9_-]{34}`)},
		{Name: "discord-token", What: "a token of a bot", word: true, marks: discordIDs,
			content: later(`\A([MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})`)},
		{Name: "session-store", What: "a store of sessions or passwords", start: "SQLite format 3\x00",
			marks:   []string{"CREATE TABLE "},
			content: later(`\ACREATE TABLE (?:IF NOT EXISTS )?["']?(?:moz_cookies|cookies|logins|nssPrivate|whatsmeow_\w+)\b`)},
		{Name: "whatsapp-session", What: "a WhatsApp session", marks: []string{`"noiseKey"`},
			content: later(`\A"noiseKey"\s*:\s*\{\s*"private"`)},
	}
}

// discordIDs are how a bot's id, a number in base64, may begin.
var discordIDs = []string{"MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"}

// parts compiles whole parts of a path, at most maxParts, in upper or lower case.
func parts(p string) expression { return later(`(?i)\A(?:` + p + `)\z`) }

// expression compiles itself when it is first used: a host that starts has no file to look at yet.
type expression func() *regexp.Regexp

func later(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
