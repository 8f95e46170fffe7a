//go:build e2e

package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// TestEngineIsFoundOverTLS has an engine that listens on TCP and knows its
// clients by certificate, and finds it in each way that the docker command
// does. The contexts are written by that command.
func TestEngineIsFoundOverTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	certs := filepath.Join(t.TempDir(), "certs")
	ours.issue(certs)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port.Close()
	addr := "tcp://" + port.Addr().String()
	p := containertest.NewPrivate(t, "--bridge=none", "-H", addr, "--tlsverify", "--tlscacert", filepath.Join(certs, "ca.pem"),
		"--tlscert", filepath.Join(certs, "cert.pem"), "--tlskey", filepath.Join(certs, "key.pem"))

	config := t.TempDir()
	ours.issue(config)
	stranger := filepath.Join(t.TempDir(), "stranger") // trusts the engine, is not trusted by it
	theirs.issue(stranger)
	ours.writeCA(stranger)
	misled := filepath.Join(t.TempDir(), "misled") // trusts another
	ours.issue(misled)
	theirs.writeCA(misled)
	for name, dir := range map[string]string{"remote": certs, "misled": misled} {
		dockerCommand(t, config, "context", "create", name, "--docker",
			"host="+addr+",ca="+filepath.Join(dir, "ca.pem")+",cert="+filepath.Join(dir, "cert.pem")+",key="+filepath.Join(dir, "key.pem"))
	}
	used := t.TempDir()
	if err := os.CopyFS(used, os.DirFS(config)); err != nil {
		t.Fatal(err)
	}
	dockerCommand(t, used, "context", "use", "remote")

	for _, tc := range []struct {
		name string
		env  map[string]string
		want string // of the error; empty: found
	}{
		{"DOCKER_CONTEXT", map[string]string{"DOCKER_CONFIG": config, "DOCKER_CONTEXT": "remote"}, ""},
		{"docker context use", map[string]string{"DOCKER_CONFIG": used}, ""},
		{"DOCKER_CERT_PATH", map[string]string{"DOCKER_HOST": addr, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certs}, ""},
		{"certificates in the configuration", map[string]string{"DOCKER_HOST": addr, "DOCKER_TLS_VERIFY": "1", "DOCKER_CONFIG": config}, ""},
		{"a socket needs none", map[string]string{"DOCKER_HOST": p.Host(), "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certs}, ""},
		{"wrong authority", map[string]string{"DOCKER_CONFIG": config, "DOCKER_CONTEXT": "misled"}, "certificate signed by unknown authority"},
		{"unknown client", map[string]string{"DOCKER_HOST": addr, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": stranger}, "certificate"},
		{"no TLS", map[string]string{"DOCKER_HOST": addr}, "HTTPS"},
		{"no certificates", map[string]string{"DOCKER_HOST": addr, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/nowhere"}, "/nowhere/ca.pem"},
		{"no such context", map[string]string{"DOCKER_CONFIG": config, "DOCKER_CONTEXT": "elsewhere"}, `read docker context "elsewhere"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine, err := docker.Connect(t.Context(), func(name string) string { return tc.env[name] })
			if err == nil {
				defer engine.Close()
			}
			if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("connect: %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
			if tc.name == "DOCKER_CONTEXT" { // what is hijacked for the assistant's streams goes over TLS too
				w := newWorldOn(t, engine, p.Base())
				if said := w.ask("echo over TLS"); said != "over TLS|" {
					t.Errorf("a container said %q", said)
				}
			}
		})
	}
}

// dockerCommand runs the docker command on a configuration of its own.
func dockerCommand(t *testing.T, config string, args ...string) {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "DOCKER_CONFIG=" + config, "HOME=" + config}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	key, der := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Harbour"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.key, a.cert = key, cert
	return a
}

// sign makes a certificate for a new key; the first is the authority's own.
func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := template, key
	if a.cert != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, der
}

// issue writes ca.pem, cert.pem and key.pem for an engine on loopback or a
// client of it.
func (a *authority) issue(dir string) {
	a.t.Helper()
	key, der := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		a.t.Fatal(err)
	}
	a.writeCA(dir)
}

func (a *authority) writeCA(dir string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}
