// Package postgres connects the host to PostgreSQL: the second engine of package store.
//
// A connection string stands in a file of its own, since it may hold a password: [Read]. What
// would lose or show data is refused with a remedy: an address elsewhere without verified TLS,
// and a server that is read-only, old, or acknowledges commits that it may forget.
//
// The host's statements are written once, with SQLite's `?`: [Config.Open] numbers them for the
// server. A library with statements of its own uses [Config.OpenNative]. With a [Fence] either
// one checks in each transaction, and with each write outside one, that this host still owns
// the state.
package postgres

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// maxString bounds a connection string, in bytes.
const maxString = 4 << 10

// Config names a server, a database and a user.
type Config struct {
	file string
	conn *pgx.ConnConfig
}

// Problem is an error that the operator can mend. It never holds a password.
type Problem struct {
	Message string
	Remedy  string
	Cause   error // may be nil
}

func (p *Problem) Error() string { return p.Message + "; to do: " + p.Remedy }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

const example = "postgres://longshore:PASSWORD@db.example.org/longshore?sslmode=verify-full"

// Read reads the connection string in a file: an address or keywords, as libpq takes them
// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING). It connects to
// nothing. The error is a *Problem.
func Read(file string) (*Config, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return nil, &Problem{Message: file + " holds no connection string", Remedy: "write one line into it, such as " + example}
	}
	conn, err := pgx.ParseConfig(text)
	if err != nil { // whose words may hold the password
		return nil, &Problem{Message: file + " holds no connection string that PostgreSQL understands", Remedy: "write one line into it, such as " + example}
	}
	c := &Config{file: file, conn: conn}
	return c, c.checkWay()
}

func readFile(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err == nil && (!st.Mode().IsRegular() || st.Size() > maxString) {
		return nil, &Problem{Message: file + " is not a small file", Remedy: "write the connection string into it, and nothing else"}
	}
	if err == nil && st.Mode().Perm()&0o037 != 0 {
		return nil, &Problem{Message: "others may read or change " + file + ", which holds the database's password", Remedy: "run chmod 600 " + file}
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, &Problem{Message: fmt.Sprintf("the file with the connection string cannot be read: %v", err), Remedy: "create it for the user that the host runs as, with mode 600", Cause: err}
	}
	return data, nil
}

// checkWay refuses a way to the server on which others could read or answer.
func (c *Config) checkWay() error {
	unsafe := func(host string, tls *tls.Config) bool {
		return !isLocal(host) && (tls == nil || tls.InsecureSkipVerify || tls.ServerName == "")
	}
	bad := unsafe(c.conn.Host, c.conn.TLSConfig)
	for _, f := range c.conn.Fallbacks {
		bad = bad || unsafe(f.Host, f.TLSConfig)
	}
	if !bad {
		return nil
	}
	return &Problem{
		Message: fmt.Sprintf("the connection to PostgreSQL on %s could be read or taken over: %s does not demand a verified certificate", c.conn.Host, c.file),
		Remedy:  "add sslmode=verify-full, and sslrootcert=FILE if the certificate is your own; a socket and this machine need no TLS",
	}
}

// isLocal reports whether a host is a socket's directory or this machine.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || err == nil && ip.IsLoopback()
}

// String names the server and the database, without the user's password.
func (c *Config) String() string {
	return fmt.Sprintf("PostgreSQL database %s on %s", c.conn.Database, c.conn.Host)
}
