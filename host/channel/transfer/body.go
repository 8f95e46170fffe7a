package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/textproto"
	"sync"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Body is the body of one request. Its length is known in advance, and its files are read while
// they are sent. The caller closes it after the answer; net/http may still read until then.
type Body struct {
	Type   string // content type
	Length int64  // bytes

	progress *Progress

	mu     sync.Mutex
	from   io.Reader // nil once closed
	files  []io.Closer
	left   int64 // bytes that were not read yet
	broken error // why a file could not be read
}

// Plain returns a body without files.
func Plain(mediaType string, content []byte) *Body {
	n := int64(len(content))
	return &Body{Type: mediaType, Length: n, progress: NewProgress(nil, 0), from: bytes.NewReader(content), left: n}
}

// Field is a field of a form, before its files.
type Field struct {
	Name, Type string
	Content    []byte
}

// Form returns a form (RFC 7578) of fields and then files. partName is the name of
// each file's part, without quotes, by its index. Form opens the files. tell, which may be nil,
// is called with the number of file bytes sent. A file that is no longer what was accepted ends the
// body before its last byte, as that of [Raw].
func Form(ctx context.Context, fields []Field, files []channel.File, partName func(i int) string, tell func(int64)) (*Body, error) {
	size := int64(0)
	for _, f := range files {
		size += f.Size
	}
	var between bytes.Buffer
	w := multipart.NewWriter(&between)
	b := &Body{Type: w.FormDataContentType(), Length: size, progress: NewProgress(tell, size)}
	var parts []io.Reader
	text := func() { // what was written since the last file
		b.Length += int64(between.Len())
		parts = append(parts, bytes.NewReader(bytes.Clone(between.Bytes())))
		between.Reset()
	}
	begin := func(disposition, mediaType string) {
		// Writing to a buffer does not fail.
		_, _ = w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {mediaType}})
	}
	for _, f := range fields {
		begin(fmt.Sprintf(`form-data; name=%q`, f.Name), f.Type)
		between.Write(f.Content)
	}
	for i, f := range files {
		src, err := f.Open()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open accepted file: %w", err), b.Close())
		}
		b.files = append(b.files, src)
		begin(multipart.FileContentDisposition(partName(i), f.Name), f.MIME)
		text()
		parts = append(parts, check(ctx, src, f))
	}
	_ = w.Close()
	text()
	b.from, b.left = b.progress.Reader(io.MultiReader(parts...)), b.Length
	return b, nil
}

// Raw returns a body that is one file. A file that is no longer what was accepted
// ends it before its last byte, with the error of [Changed]. Raw opens the file.
// tell, which may be nil, is called with the number of bytes sent.
func Raw(ctx context.Context, f channel.File, tell func(int64)) (*Body, error) {
	src, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open accepted file: %w", err)
	}
	b := &Body{Type: "application/octet-stream", Length: f.Size, left: f.Size, files: []io.Closer{src}, progress: NewProgress(tell, f.Size)}
	b.from = b.progress.Reader(check(ctx, src, f))
	return b, nil
}

func check(ctx context.Context, src io.Reader, f channel.File) io.Reader {
	return &verified{r: Bounded(ctx, src, f.Size), file: f, left: f.Size, sum: sha256.New()}
}

// verified withholds the last bytes of a file whose content has changed since it was accepted.
type verified struct {
	r    io.Reader
	file channel.File
	left int64
	sum  hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.sum.Write(p[:n])
	if v.left -= int64(n); v.left == 0 && n > 0 && hex.EncodeToString(v.sum.Sum(nil)) != v.file.SHA256 {
		return 0, Changed(v.file.Name, nil)
	}
	return n, err
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from == nil {
		return 0, errors.New("the body is closed")
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken = err
	}
	return n, err
}

// Close waits for a Read in progress, closes the files, and stops the reports
// of progress. It may be called again.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress.Stop()
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close())
	}
	b.from, b.files = nil, nil
	return errors.Join(errs...)
}

// handed reports whether the connection has read all bytes. broken is why a file could not be
// read, or nil.
func (b *Body) handed() (all bool, broken error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left == 0, b.broken
}
