package sender

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/agentrunner/pdf"
	"github.com/longshore-bridge/longshore/media"
)

// Document is what SendPDF prints: a file, or else a text.
type Document struct {
	Path string // of a Markdown or HTML file, which must be one that may be sent
	Text string // Markdown, or HTML if it begins with a tag
}

// SendPDF prints a document to a PDF and sends that like a file. f has its name and
// caption; its Path is not used. Errors are those of SendFiles; a program that is
// missing is one too.
func (s *Sender) SendPDF(ctx context.Context, d Document, f File, o Options) (Report, error) {
	if !s.Prints() {
		return Report{}, lacks("send_as_pdf", "make the PDF yourself and send it with send_attachment, or send the text with send_message")
	}
	doc, name, origin, err := s.document(d)
	if err != nil {
		return Report{}, err
	}
	started := time.Now()
	dir, err := os.MkdirTemp(s.tempDir(), "longshore-pdf-")
	if err != nil {
		return Report{}, s.dropProblem(err)
	}
	defer os.RemoveAll(dir)
	made, err := pdf.Make(ctx, doc, dir)
	if err != nil {
		return Report{}, pdfProblem(err)
	}
	f.Name = cmp.Or(f.Name, name)
	if !strings.EqualFold(filepath.Ext(f.Name), ".pdf") {
		f.Name += ".pdf"
	}
	f.Path, f.As = made, "document"
	f.source = &source{path: origin, name: name + ".txt", text: doc.Text}
	// The copy outlives this call. Printing and sending together take as long as a
	// call may.
	o.Copy, o.Wait = true, max(s.config.Wait-time.Since(started), time.Second)
	return s.SendFiles(ctx, []File{f}, o)
}

// tempDir is a directory from which files may be sent.
func (s *Sender) tempDir() string {
	if len(s.config.Temp) > 0 {
		return s.config.Temp[0]
	}
	return s.config.Workspace()
}

// document reads what is to be printed, and returns the PDF's name without its
// extension, and where the document was, as originOf writes it.
func (s *Sender) document(d Document) (doc pdf.Document, name, origin string, err error) {
	switch {
	case (d.Path == "") == isBlank(d.Text):
		return doc, "", "", problem("invalid_argument", "send_as_pdf takes either file_path or text", "give one of them")
	case d.Path == "":
		doc = pdf.Document{Text: []byte(d.Text), HTML: strings.HasPrefix(strings.TrimSpace(d.Text), "<"), Dir: s.config.Workspace()}
		name = "document"
	default:
		if doc, origin, err = s.readDocument(d.Path); err != nil {
			return doc, "", "", err
		}
		base := filepath.Base(strings.TrimRight(d.Path, "/"))
		name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if !utf8.Valid(doc.Text) {
		return doc, "", "", problem("invalid_argument", "the document is not valid UTF-8", "write it in UTF-8")
	}
	return doc, name, origin, nil
}

// readDocument reads a file that may be sent.
func (s *Sender) readDocument(path string) (doc pdf.Document, origin string, err error) {
	html := false
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html", ".htm":
		html = true
	case ".md", ".markdown", ".txt":
	default:
		return doc, "", problem("invalid_argument", quoted(path)+" is neither Markdown (.md) nor HTML (.html)",
			"write the document in one of them; send any other file with send_file")
	}
	local, err := s.localPath(path)
	if err != nil {
		return doc, "", err
	}
	file, _, real, err := s.open(local, path, s.host())
	if err != nil {
		return doc, "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, pdf.MaxSource+1))
	if err != nil {
		return doc, "", problem("unreadable", quoted(path)+" cannot be read: "+errno(err), "send a copy of the file")
	}
	return pdf.Document{Text: bytes.TrimSpace(text), HTML: html, Dir: filepath.Dir(real)}, originOf(path, local, real), nil
}

func pdfProblem(err error) error {
	var missing *pdf.Missing
	switch {
	case errors.As(err, &missing):
		hint := "the operator must install one of " + strings.Join(missing.Programs, ", ") + " in the assistant's image; until then send the document itself with send_file"
		if missing.Step != "print HTML" {
			hint = "write the document as HTML and call again; or the operator installs one of " + strings.Join(missing.Programs, ", ") + " in the assistant's image"
		}
		return problem("no_program", missing.Error(), hint)
	case errors.Is(err, pdf.ErrTooLarge):
		return problem("file_too_large", fmt.Sprintf("the document is over %s, or its PDF over %s", media.Size(pdf.MaxSource), media.Size(pdf.MaxPDF)),
			"send it in parts, or with smaller pictures")
	case errors.Is(err, pdf.ErrTimeout):
		return problem("timeout", "printing took longer than "+pdf.Timeout.String(), "send a smaller document, or the document itself with send_file")
	case errors.Is(err, context.Canceled), errors.Is(err, ErrKeep):
		return fmt.Errorf("make PDF: %w", err)
	}
	return problem("not_printable", "the document could not be printed: "+media.Printable(err.Error()),
		"simplify it and call again, or send the document itself with send_file")
}
