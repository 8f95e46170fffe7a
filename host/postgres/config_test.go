package postgres_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

func TestAConnectionThatOthersCouldReadIsRefused(t *testing.T) {
	for text, safe := range map[string]bool{
		"postgres://u:geheim@db.example.org/x":                                           false,
		"postgres://u:geheim@db.example.org/x?sslmode=disable":                           false,
		"postgres://u:geheim@db.example.org/x?sslmode=require":                           false,
		"host=db.example.org user=u password=geheim sslmode=verify-ca":                   false,
		"postgres://u:geheim@localhost,db.example.org/x?sslmode=prefer":                  false,
		"postgres://u:geheim@192.0.2.7/x?sslmode=allow":                                  false,
		"postgres://u:geheim@db.example.org/x?sslmode=verify-full":                       true,
		"host=db.example.org,db2.example.org user=u password=geheim sslmode=verify-full": true,
		"postgres://u:geheim@127.0.0.1/x":                                                true,
		"postgres://u:geheim@[::1]/x":                                                    true,
		"postgres://u:geheim@localhost/x":                                                true,
		"host=/run/postgresql user=u":                                                    true,
	} {
		c, err := postgres.Read(pgtest.Write(t, text))
		if problem, ok := errors.AsType[*postgres.Problem](err); safe != (err == nil) || err != nil && (!ok || !strings.Contains(problem.Remedy, "verify-full")) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") || c != nil && strings.Contains(c.String(), "geheim") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestAFileWithoutAConnectionStringNamesTheRemedyAndNoPassword(t *testing.T) {
	dir := t.TempDir()
	open := pgtest.Write(t, "host=/run/postgresql")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for what, file := range map[string]string{
		"missing":     filepath.Join(dir, "none"),
		"a directory": dir,
		"empty":       pgtest.Write(t, " "),
		"no string":   pgtest.Write(t, "postgres://u:geheim@db.example.org:port/x"),
		"no keyword":  pgtest.Write(t, "host=db.example.org password=geheim sslmode=geheim"),
		"too large":   pgtest.Write(t, strings.Repeat("geheim", 1000)),
		"for all":     open,
	} {
		_, err := postgres.Read(file)
		problem, ok := errors.AsType[*postgres.Problem](err)
		if !ok || problem.Remedy == "" || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
