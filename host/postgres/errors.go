package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrFenced is of a change that was refused because another host owns the state now, or
	// because the lease has expired. This host must stop.
	ErrFenced = errors.New("another host owns the state, or this host's lease has expired")

	// ErrAway is of a server that cannot be reached, that ends, or that has no connection left.
	// Nothing was changed. It is temporary.
	ErrAway = errors.New("the database server is away")

	// ErrDoubtful is of a commit whose answer was lost, and that could not be asked about since.
	ErrDoubtful = errors.New("the database server may or may not have it")

	// ErrText is of a text that PostgreSQL cannot keep. It is permanent.
	ErrText = errors.New("a text holds a zero byte or is not UTF-8")
)

// fenced is the SQLSTATE that longshore_fence raises.
const fenced = "LS001"

// Code returns the SQLSTATE of an error of the server, else "":
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func Code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// OwnFault reports whether one statement or its values are to blame for an error of the server,
// and not the server, its disk, its locks or the connection.
func OwnFault(err error) bool {
	code := Code(err)
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "0A", "21", "22", "23", "42", "44", "54": // not supported, too many rows, the value, a constraint, the statement, a view, too large
		return true
	}
	return false
}

// Passing reports whether an error of the server may be another one, or none, at the next try: it was away, or took
// too long.
func Passing(err error) bool {
	code := Code(err)
	return errors.Is(err, ErrAway) || code == "57014" || code == "55P03" // statement_timeout, lock_timeout
}

// Remedy is what the operator can do about an error of the server.
func Remedy(err error) string {
	switch code := Code(err); {
	case code == "53300":
		return "end sessions of PostgreSQL that nobody needs, or raise max_connections: each host needs ten"
	case code == "53100":
		return "free space on the disk of PostgreSQL"
	case code == "25006":
		return "let PostgreSQL take writes (default_transaction_read_only), or name the primary in the connection string"
	case errors.Is(err, ErrAway):
		return "start PostgreSQL; if it runs, look at the way to it"
	}
	return "see PostgreSQL's log"
}

// known gives an error the kind by which callers know it.
func known(err error) error {
	switch code := Code(err); {
	case err == nil, errors.Is(err, ErrAway), errors.Is(err, ErrFenced), errors.Is(err, ErrText):
		return err
	case code == fenced:
		return fmt.Errorf("%w (%w)", ErrFenced, err)
	case lost(err, code):
		return fmt.Errorf("%w (%w)", ErrAway, err)
	}
	return err
}

// lost reports whether the connection is of no more use: class 08, an end by the operator or by a limit of a
// transaction's time, or no connection left.
func lost(err error, code string) bool {
	if code != "" {
		return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P") || code == "53300" || code == "25P03" || code == "25P04"
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}
