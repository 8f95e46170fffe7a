// Package s3 keeps blobs in a bucket of a service that speaks S3.
//
// Uploads above 8 MiB go in parts, each with a checksum (CRC-32C) that the service compares. Who
// reads a blob compares the SHA-256 of its record. Nothing is ever signed for others: no member gets
// an address of the bucket.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/longshore-bridge/longshore/host/blob"
)

const (
	partSize = 8 << 20 // bytes of an upload's part, each in memory while it is sent
	tries    = 2       // of each request
	patience = 30 * time.Second
	maxKey   = 4 << 10 // bytes of a file with a key
	partial  = ".part" // ends the names of uploads that are not whole, see blob.Place
)

// Settings say where the bucket is. The files hold an access key and its secret; they are read
// again for each request, so that a new key needs no restart.
type Settings struct {
	Endpoint string // https://host or https://host:port; http only on the loopback
	Region   string
	Bucket   string
	Prefix   string // of all names in the bucket, such as "longshore/"; may be empty

	KeyFile, SecretFile string
}

// Place is a bucket, or the names in one that begin with a prefix. It implements [blob.Place].
type Place struct {
	Settings
	core minio.Core
}

// CheckEndpoint returns what is wrong with the form of an endpoint, or nil.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it is not https://host or https://host:port")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("files and the secret's signatures would cross the network in the open")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// New returns a Place. It connects to nothing.
func New(s Settings) (*Place, error) {
	if err := CheckEndpoint(s.Endpoint); err != nil {
		return nil, fmt.Errorf("the endpoint %q: %w", s.Endpoint, err)
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return nil, err
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.New(keyFiles{s.KeyFile, s.SecretFile}), Secure: u.Scheme == "https", Region: s.Region,
		Transport: transport(), TrailingHeaders: true, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("the bucket of state.files: %w", err)
	}
	return &Place{s, minio.Core{Client: c}}, nil
}

// transport is net/http's own, but that a connection on which nothing moves for a while breaks.
func transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return impatient{c}, nil
		},
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: patience, MaxIdleConnsPerHost: 8, DisableCompression: true,
	}
}

type impatient struct{ net.Conn }

// wait sets both deadlines: net/http reads all the time, also while it sends.
func (c impatient) wait() { _ = c.SetDeadline(time.Now().Add(patience)) }

func (c impatient) Read(p []byte) (int, error) {
	c.wait()
	return c.Conn.Read(p)
}

func (c impatient) Write(p []byte) (int, error) {
	c.wait()
	return c.Conn.Write(p)
}

// keyFiles reads the key for each request.
type keyFiles struct{ key, secret string }

// errKey is in the error of a key that cannot be read.
var errKey = errors.New("the key of the bucket cannot be read")

func (k keyFiles) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

func (k keyFiles) Retrieve() (v credentials.Value, err error) {
	if v.AccessKeyID, err = readLine(k.key); err == nil {
		v.SecretAccessKey, err = readLine(k.secret)
	}
	if err != nil {
		return credentials.Value{}, fmt.Errorf("%w: %w", errKey, err)
	}
	return v, nil
}

func (keyFiles) IsExpired() bool { return true }

func readLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKey))
	if data = bytes.TrimSpace(data); err == nil && (len(data) == 0 || bytes.ContainsAny(data, "\r\n")) {
		err = fmt.Errorf("%s is not one line", path)
	}
	return string(data), err
}

// Put implements blob.Place. The library reads part by part into one buffer: what it does with an
// io.ReaderAt sends wrong checksums (v7.4.1).
func (p *Place) Put(ctx context.Context, name string, from *os.File, size int64) error {
	_, err := p.core.Client.PutObject(ctx, p.Bucket, p.Prefix+name, struct{ io.Reader }{io.NewSectionReader(from, 0, size)}, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partSize})
	return p.trouble(err)
}

// Copy implements blob.Place: the service copies.
func (p *Place) Copy(ctx context.Context, from, name string) error {
	_, err := p.core.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: p.Bucket, Object: p.Prefix + name}, minio.CopySrcOptions{Bucket: p.Bucket, Object: p.Prefix + from})
	return p.trouble(err)
}

// Get implements blob.Place.
func (p *Place) Get(ctx context.Context, name string, to io.Writer) error {
	body, _, _, err := p.core.GetObject(ctx, p.Bucket, p.Prefix+name, minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fs.ErrNotExist
	}
	if err != nil {
		return p.trouble(err)
	}
	defer body.Close()
	_, err = io.Copy(to, body)
	return p.trouble(err)
}

// Remove implements blob.Place.
func (p *Place) Remove(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		var err error
		if whole, ok := strings.CutSuffix(name, partial); ok {
			err = p.core.RemoveIncompleteUpload(ctx, p.Bucket, p.Prefix+whole)
		} else {
			err = p.core.Client.RemoveObject(ctx, p.Bucket, p.Prefix+name, minio.RemoveObjectOptions{})
		}
		if err != nil {
			errs = append(errs, p.trouble(err))
		}
	}
	return errors.Join(errs...)
}

// List implements blob.Place. Uploads that are not whole have .part behind their names.
func (p *Place) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range p.core.Client.ListObjectsIter(ctx, p.Bucket, minio.ListObjectsOptions{Prefix: p.Prefix, Recursive: true}) {
			if !yield(strings.TrimPrefix(o.Key, p.Prefix), p.trouble(o.Err)) || o.Err != nil {
				return
			}
		}
		for u := range p.core.ListIncompleteUploads(ctx, p.Bucket, p.Prefix, true) {
			if !yield(strings.TrimPrefix(u.Key, p.Prefix)+partial, p.trouble(u.Err)) || u.Err != nil {
				return
			}
		}
	}
}

// String implements blob.Place.
func (p *Place) String() string { return p.Endpoint + "/" + p.Bucket + "/" + p.Prefix }

// Space implements blob.Place: a bucket has no bounds that it tells.
func (p *Place) Space(context.Context) (free, total int64, err error) { return 0, 0, nil }

// The codes by which services say what an operator can mend:
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html; those with X are MinIO's.
var (
	refusals = []string{"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AccountProblem", "AllAccessDisabled", "Forbidden"}
	fulls    = []string{"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "ServiceQuotaExceeded", "EntityTooLarge"}
)

// trouble returns err in the operator's words.
func (p *Place) trouble(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	at := fmt.Sprintf("the bucket %s at %s", p.Bucket, p.Endpoint)
	t := &blob.Trouble{Cause: at + " cannot be used: " + err.Error(), Remedy: "check that the service runs, and that this machine reaches it", Err: err}
	switch r := minio.ToErrorResponse(err); {
	case errors.Is(err, errKey):
		t.Cause, t.Remedy = err.Error(), "write the access key into the file of key_from_file and its secret into that of secret_from_file, a line each"
	case r.Code == minio.NoSuchBucket:
		t.Cause, t.Remedy = at+" does not exist", "make the bucket, or correct state.files.s3.bucket"
	case r.Code == "RequestTimeTooSkewed":
		t.Remedy = "set this machine's clock: the service refuses what is signed at another time"
	case slices.Contains(fulls, r.Code), r.StatusCode == http.StatusInsufficientStorage:
		t.Cause, t.Remedy = at+" is full: "+r.Code, "make room, or raise its quota"
	case slices.Contains(refusals, r.Code), r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		t.Cause = at + " refuses the key of key_from_file: " + r.Code
		t.Remedy = "put a key into key_from_file and secret_from_file that may list, read, write and delete in this bucket; they are read again for each request"
	}
	return t
}
