package remoteclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Bounds of one exchange.
const (
	dialTime  = 10 * time.Second
	stallTime = 30 * time.Second // without a byte
	maxHeader = 64 << 10
	maxAnswer = 4 << 20 // 100 messages of members, each character of which JSON may write as six
)

// request is one request of HTTP. Its header lines are pairs.
type request struct {
	method, path string
	header       []string
	body         io.Reader
	length       int64         // of body
	wait         time.Duration // how long the host may think about it
}

// answer is what the host answered.
type answer struct {
	status int
	header textproto.MIMEHeader
	body   []byte
}

// lostError says that there was no answer.
type lostError struct {
	sent bool // the host may have the request
	err  error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// do makes one request over a connection of its own. The error is a *lostError.
//
// Package net/http would make the program a fifth larger; this needs one method of it.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, c.network, c.address)
	if err != nil {
		return answer{}, &lostError{err: err}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	alive := &stalling{conn, stallTime}
	werr := c.write(alive, r)
	alive.timeout += r.wait
	a, err := readAnswer(alive, r.method)
	if err != nil {
		return answer{}, &lostError{sent: true, err: errors.Join(ctx.Err(), werr, err)}
	}
	if a.status == 401 {
		c.refused(errNoToken)
	}
	return a, nil // even if the body was not written to its end: the host may refuse it before
}

// stalling ends an exchange in which nothing moves.
type stalling struct {
	net.Conn
	timeout time.Duration
}

func (s *stalling) Read(b []byte) (int, error) {
	_ = s.SetReadDeadline(time.Now().Add(s.timeout))
	return s.Conn.Read(b)
}

func (s *stalling) Write(b []byte) (int, error) {
	_ = s.SetWriteDeadline(time.Now().Add(s.timeout))
	return s.Conn.Write(b)
}

func (c *Client) write(conn io.Writer, r request) error {
	w := bufio.NewWriterSize(conn, 64<<10)
	fmt.Fprintf(w, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n", r.method, c.prefix+r.path, c.host, c.token)
	for i := 0; i < len(r.header); i += 2 {
		fmt.Fprintf(w, "%s: %s\r\n", r.header[i], r.header[i+1])
	}
	if r.body != nil {
		fmt.Fprintf(w, "Content-Length: %d\r\n", r.length)
	}
	_, _ = w.WriteString("\r\n")
	if r.body != nil {
		if _, err := io.CopyN(w, r.body, r.length); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readAnswer reads an answer strictly.
func readAnswer(conn io.Reader, method string) (a answer, err error) {
	bounded := &io.LimitedReader{R: conn, N: maxHeader}
	b := bufio.NewReader(bounded)
	for a.status < 200 { // 100 and the like come before the answer
		if a.status, a.header, err = readHeader(b); err != nil {
			return answer{}, err
		}
	}
	bounded.N = 2 * maxAnswer // for the frames of chunks, too
	if method == "HEAD" || a.status == 204 || a.status == 304 {
		return a, nil
	}
	a.body, err = readBody(b, a.header)
	return a, err
}

var errMalformed = errors.New("the answer is not HTTP/1.1")

func readHeader(b *bufio.Reader) (status int, header textproto.MIMEHeader, err error) {
	lines := textproto.NewReader(b)
	line, err := lines.ReadLine()
	if err != nil {
		return 0, nil, err
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err = strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 100 || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return 0, nil, errMalformed
	}
	header, err = lines.ReadMIMEHeader()
	return status, header, err
}

var errTooLong = errors.New("the answer is too long")

func readBody(b *bufio.Reader, header textproto.MIMEHeader) ([]byte, error) {
	coding, length := header.Values("Transfer-Encoding"), header.Values("Content-Length")
	switch {
	case len(coding) > 0:
		if len(coding) > 1 || !strings.EqualFold(coding[0], "chunked") || len(length) > 0 {
			return nil, errMalformed
		}
		return readChunks(b)
	case len(length) > 0:
		n, err := strconv.ParseInt(length[0], 10, 64)
		if err != nil || n < 0 || len(length) > 1 {
			return nil, errMalformed
		}
		if n > maxAnswer {
			return nil, errTooLong
		}
		body := make([]byte, n)
		_, err = io.ReadFull(b, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(b, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}

// readChunks reads a body that comes in chunks. What follows the last one is not read.
func readChunks(b *bufio.Reader) ([]byte, error) {
	var body bytes.Buffer
	for lines := textproto.NewReader(b); ; {
		line, err := lines.ReadLine()
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
		if err != nil {
			return nil, errMalformed
		}
		if n == 0 {
			return body.Bytes(), nil
		}
		if int64(body.Len())+int64(n) > maxAnswer {
			return nil, errTooLong
		}
		if _, err := io.CopyN(&body, b, int64(n)); err != nil {
			return nil, err
		}
		if end, err := lines.ReadLine(); err != nil || end != "" {
			return nil, errors.Join(errMalformed, err)
		}
	}
}
