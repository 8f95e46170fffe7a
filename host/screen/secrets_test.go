package screen_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/media"
)

func rules(t *testing.T, own ...string) *screen.Screen {
	t.Helper()
	s, err := screen.New(nil, nil, own...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaves says whether a text leaves under a harmless name.
func leaves(s *screen.Screen, text string) bool {
	return s.Check(strings.NewReader(text), int64(len(text)), "notes.txt") == nil
}

const alnum = "aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9"

// Tokens are written in two pieces, so that no scanner of repositories takes them for real.
var tokens = map[string]string{
	"a token of the door":         "lsh" + "_0123456789abcdef_" + alnum[:43],
	"a webhook's secret":          "whsec" + "_" + alnum[:32],
	"a bot of Telegram":           "1234567890" + ":AA" + alnum[:33],
	"one in an address":           "https://api.telegram.org/bot1234567890" + ":AA" + alnum[:33] + "/getMe",
	"a bot of Discord":            "MTIzNDU2Nzg5MDEyMzQ1Njc4" + "." + alnum[:6] + "." + alnum[:38],
	"a key of Google":             "AIza" + alnum[:35],
	"a client's secret of Google": "GOCSPX" + "-" + alnum[:28],
	"today's key of Gemini":       "AQ" + ".Ab" + alnum[:48],
	"a project's key of OpenAI":   "sk-" + "proj-" + alnum[:60] + "-_" + alnum[:60],
	"a service account's":         "sk-" + "svcacct-" + alnum[:60],
	"an administrator's":          "sk-" + "admin-" + alnum[:60],
	"an old key of OpenAI":        "sk-" + alnum[:48],
	"a key of OpenRouter":         "sk-" + "or-v1-" + strings.Repeat("0123456789abcdef", 4),
	"a token of Anthropic":        "sk-" + "ant-oat01-" + alnum[:80],
	"a refresh token of Slack":    "xoxe" + "-1-" + alnum[:80],
	"a rotated token of Slack":    "xoxe" + ".xoxp-1-" + alnum[:80],
	"a bot of Slack":              "xoxb" + "-1234567890-1234567890-" + alnum[:24],
	"an app of Slack":             "xapp" + "-1-A0123456789-1234567890-" + alnum[:40],
	"a token of ntfy":             "tk" + "_" + strings.ToLower(alnum)[:29],
	"a key of Groq":               "gsk" + "_" + alnum[:52],
}

// TestTokensOfThisProductLeft, and those of today's services.
func TestTokensOfThisProductLeft(t *testing.T) {
	s := rules(t)
	for what, token := range tokens {
		for _, text := range []string{token, "the key is " + token + ".\n", `{"key":"` + token + `"}`, "KEY=" + token + "\nOTHER=x\n"} {
			if leaves(s, text) {
				t.Errorf("%s leaves in %q", what, text)
			}
		}
	}
	for _, text := range []string{
		"a task-force-meeting-with-some-notes-and-more-of-them", "disk-0123456789abcdef0123456789abcdef", "https://example.org/at/12345:AAA", "MTIz.abc.def", "the token begins with lsh_ or whsec_",
		"set OPENAI_API_KEY=sk-proj-your-key-goes-here-and-nothing-else-at-all", "tk_" + strings.ToLower(alnum)[:29] + "_and_more", "12:30:AM",
	} {
		if !leaves(s, text) {
			t.Errorf("%q does not leave", text)
		}
	}
}

// TestASecretOfTheConfigurationLeft: one that the operator chose has no form of its own.
func TestASecretOfTheConfigurationLeft(t *testing.T) {
	const token, short = "correct horse battery staple", "hunter2"
	s := rules(t, token, short, "")
	if leaves(s, "it is "+token+", they say") {
		t.Error("it leaves")
	}
	for _, text := range []string{token[1:], "it is " + short} { // a short one could be guessed by sending words
		if !leaves(s, text) {
			t.Errorf("%q does not leave", text)
		}
	}
	off, err := screen.New([]string{"own-secret"}, nil, token)
	if err != nil || !leaves(off, token) {
		t.Errorf("a rule that is off: %v", err)
	}
}

func pem(kind, newline string) string {
	lines := []string{"-----" + "BEGIN " + kind + "-----", strings.Repeat("MIIEvQIBADANBgkq", 4), strings.Repeat("hkiG9w0BAQEFAASC", 4), "-----END " + kind + "-----"}
	return strings.Join(lines, newline)
}

// TestAWordInACommentExcusedTheSecretBesideIt: example, your- and the like are placeholders in the
// place of a secret, and nowhere else.
func TestAWordInACommentExcusedTheSecretBesideIt(t *testing.T) {
	s := rules(t)
	key := pem("RSA PRIVATE KEY", "\n")
	body := key[strings.IndexByte(key, '\n')+1:]
	head := strings.TrimSuffix(key, body)
	secrets := map[string]string{
		"a comment line":        head + "# an example of your-key\n" + body,
		"a header":              head + "Comment: your-name@example.org\n\n" + body,
		"two headers":           head + "Proc-Type: 4,ENCRYPTED\nDEK-Info: placeholder,00\n\n" + body,
		"a registry":            `{"auths": {"registry.example.com": {"auth": "` + alnum[:24] + `"}}}`,
		"the second registry":   `{"auths": {"a": {"auth": "your-password"}, "b": {"email": "x", "auth": "` + alnum[:24] + `"}}}`,
		"a key of AWS":          "# example\naws_secret_access_key = " + alnum[:40],
		"a second key of AWS":   "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nSecretAccessKey: " + alnum[:40],
		"another one's example": "key_example: ghp_" + alnum[:36],
	}
	for what, text := range secrets {
		if leaves(s, text) {
			t.Errorf("%s: it leaves", what)
		}
	}
	for what, text := range map[string]string{
		"an example of AWS":      "secretAccessKey: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
		"one of a registry":      `{"auths": {"registry.test": {"auth": "your-base64-here"}}}`,
		"auths without a login":  `{"auths": {}, "credsStore": "desktop"}`,
		"an auth of another API": `{"auth": "` + alnum[:24] + `"}`,
	} {
		if !leaves(s, text) {
			t.Errorf("%s: it does not leave", what)
		}
	}
}

func TestOtherSpellingsOfAKeyLeft(t *testing.T) {
	s := rules(t)
	for _, name := range []string{"secretAccessKey", "SECRETACCESSKEY", "Aws_Secret_Access_Key", "awsSecretAccessKey", "secret-access-key", "AWS_SECRET_ACCESS_KEY"} {
		for _, form := range []string{"%s = %", "%s: '%'", `"%s": "%"`, "<%s>%</%s>", `{\"%s\": \"%\"}`, "export %s=%"} {
			text := strings.ReplaceAll(strings.ReplaceAll(form, "%s", name), "%", alnum[:40])
			if leaves(s, text) {
				t.Errorf("%q leaves", text)
			}
		}
	}
	for what, indent := range map[string]string{"no-break spaces": "\n\u00a0\u00a0", "of Latin 1": "\n\xa0\xa0", "wide spaces": "\n\u3000", "thin ones": "\n\u2009", "an invisible one": "\u200b\n", "HTML's": "<br>\n&nbsp;&nbsp;", "tabs and a bar": "\n\t| "} {
		if leaves(s, pem("PRIVATE KEY", indent)) {
			t.Errorf("PEM with %s leaves", what)
		}
	}
	for what, text := range map[string]string{"PEM": pem("EC PRIVATE KEY", "\r\n"), "with no-break spaces": pem("PRIVATE KEY", "\n\u00a0"), "a token": "the key\n" + tokens["a key of Google"] + "\n"} {
		units := utf16.Encode([]rune(text))
		var little, big []byte
		for _, u := range units {
			little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
		}
		for order, b := range map[string][]byte{"little": little, "big": big, "after other bytes": append(bytes.Repeat([]byte("abc"), 333), little...)} {
			if leaves(s, string(b)) {
				t.Errorf("%s in UTF-16 without a mark leaves, %s", what, order)
			}
		}
	}
}

func TestAKeyInDERLeft(t *testing.T) {
	s := rules(t)
	must := func(b []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	many, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // a test's
	if err != nil {
		t.Skip(err)
	}
	type protected struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	type bag struct {
		Version int
		Safe    pkix.AlgorithmIdentifier
	}
	secrets := map[string]string{
		"RSA": string(x509.MarshalPKCS1PrivateKey(many)), "of a curve": must(x509.MarshalECPrivateKey(curve)), "RSA, PKCS #8": must(x509.MarshalPKCS8PrivateKey(many)),
		"of a curve, PKCS #8": must(x509.MarshalPKCS8PrivateKey(curve)), "of Ed25519": must(x509.MarshalPKCS8PrivateKey(edwards)),
		"with a password": must(asn1.Marshal(protected{pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}, Parameters: asn1.NullRawValue}, make([]byte, 64)})),
		"PKCS #12":        must(asn1.Marshal(bag{3, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}, Parameters: asn1.NullRawValue}})),
	}
	for what, b := range secrets {
		if leaves(s, b) || leaves(s, b+"\n") {
			t.Errorf("%s: it leaves", what)
		}
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<32, 0)}
	request := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, edwards))
	for what, b := range map[string]string{
		"a public key": must(x509.MarshalPKIXPublicKey(public)), "RSA's": string(x509.MarshalPKCS1PublicKey(&many.PublicKey)), "a certificate": must(x509.CreateCertificate(rand.Reader, template, template, public, edwards)),
		"a request": request, "a number": must(asn1.Marshal(7)), "zeros": strings.Repeat("0", 100),
	} {
		if !leaves(s, b) {
			t.Errorf("%s: it does not leave", what)
		}
	}
}

func TestAJWKLeft(t *testing.T) {
	s := rules(t)
	public := `{"kty":"RSA","kid":"1","e":"AQAB","n":"` + alnum + `"}`
	for what, text := range map[string]string{
		"RSA": `{"kty":"RSA","e":"AQAB","n":"` + alnum + `","d":"` + alnum + `"}`, "another order": "{\n  \"d\" : \"" + alnum[:43] + "\",\n  \"crv\": \"Ed25519\", \"kty\" : \"OKP\"}",
		"a shared one": `{"keys":[` + public + `,{"kty":"oct","k":"` + alnum[:43] + `"}]}`,
	} {
		if leaves(s, text) {
			t.Errorf("%s: it leaves", what)
		}
	}
	for what, text := range map[string]string{"public keys": `{"keys":[` + strings.Repeat(public+",", 1000) + public + `]}`, "a picture": `{"d": "` + alnum + `", "k": 1}`} {
		if !leaves(s, text) {
			t.Errorf("%s: they do not leave", what)
		}
	}
}

// hidden are characters that media.SafeName takes out of a name.
var hidden = []string{"\u200b", "\u00ad", "\u00a0", "\u202e", "\n", "\r\n", "\t", "\u2060", "\ufeff", "\u2028", "\U000e0041", "\ufe0f", " ", "\x00", "\u200d"}

// TestANameWasJudgedBeforeItWasCleaned: the file arrived as .env or safe.kdbx.
func TestANameWasJudgedBeforeItWasCleaned(t *testing.T) {
	s := rules(t)
	for _, secret := range []string{".env", "safe.kdbx", "id_rsa", ".netrc", ".aws/credentials", ".ssh/work", "longshore.db"} {
		for _, h := range hidden {
			for _, name := range []string{secret + h, h + secret, secret[:2] + h + secret[2:], "dir/" + secret + h + h} {
				if clean := media.Visible(name); clean != secret && clean != "dir/"+secret { // a space in the middle stays
					continue
				}
				if err := s.Check(strings.NewReader("x"), 1, name); err == nil {
					t.Errorf("%q leaves, as %q", name, media.SafeName(name))
				}
				for kind, archive := range archives(t, name) {
					if err := s.Check(bytes.NewReader(archive), int64(len(archive)), "a.bin"); err == nil {
						t.Errorf("%q leaves in a %s", name, kind)
					}
				}
			}
		}
	}
	for _, name := range []string{"environment.txt", "rapport\u00a0final.pdf", "\u200bid_rsa.pub", "שלום.pdf"} {
		if err := s.Check(strings.NewReader("x"), 1, name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func archives(t *testing.T, name string) map[string][]byte {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	if _, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"zip": packed.Bytes()}
	var rolled bytes.Buffer
	w := tar.NewWriter(&rolled)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600}); err == nil && w.Close() == nil { // tar has no names with NUL
		all["tar"] = rolled.Bytes()
	}
	return all
}

// FuzzNames: a name that leaves does not become one that would not, however often it is cleaned.
func FuzzNames(f *testing.F) {
	for _, h := range hidden {
		f.Add(".env" + h)
		f.Add(h + "dir/safe.kdbx")
	}
	s, err := screen.New(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		shown := media.Visible(name)
		if again := media.Visible(shown); again != shown {
			t.Errorf("%q becomes %q, and that %q", name, shown, again)
		}
		if s.Check(strings.NewReader("x"), 1, name) != nil {
			return
		}
		if err := s.Check(strings.NewReader("x"), 1, shown); err != nil {
			t.Errorf("%q leaves, and is shown as %q: %v", name, shown, err)
		}
	})
}
