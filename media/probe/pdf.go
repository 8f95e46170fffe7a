package probe

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
)

// Limits for counting a PDF's pages: the bytes that are searched, and the largest
// credible count.
const (
	pdfWindow = 8 << 20
	maxPages  = 100_000
)

var (
	pdfPages = regexp.MustCompile(`/Type\s*/Pages\b`)
	pdfCount = regexp.MustCompile(`/Count\s+([0-9]{1,6})\b`)
)

// pdf counts the pages and makes a thumbnail of the first one, if a tool can.
func (p *Prober) pdf(ctx context.Context, r io.ReadSeeker, src io.ReadSeeker) Facts {
	f := Facts{Pages: p.tools.pages(ctx, src), Thumbnail: p.tools.firstPage(ctx, src)}
	if f.Pages == 0 {
		f.Pages = countPages(r)
	}
	return f
}

// countPages returns the largest count in a page tree that is not compressed, else
// 0. It does not parse the PDF, as that would be too dangerous for its use.
func countPages(r io.ReadSeeker) uint32 {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0
	}
	in := bufio.NewReaderSize(io.LimitReader(r, pdfWindow), 64<<10)
	most := 0
	object := make([]byte, 0, 4096)
	for {
		line, err := in.ReadSlice('\n')
		if len(object)+len(line) <= cap(object) {
			object = append(object, line...)
		} else {
			object = object[:0]
		}
		if bytes.Contains(line, []byte("endobj")) || err == io.EOF {
			if pdfPages.Match(object) {
				for _, m := range pdfCount.FindAllSubmatch(object, -1) {
					n, _ := strconv.Atoi(string(m[1]))
					most = max(most, n)
				}
			}
			object = object[:0]
		}
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
	}
	if most > maxPages {
		return 0
	}
	return uint32(most)
}
