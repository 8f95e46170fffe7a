package probe

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
)

// A PDF's pages are looked for in so many bytes, and never more pages than a
// person would believe.
const (
	pdfWindow = 8 << 20
	maxPages  = 100_000
)

var (
	pdfPages = regexp.MustCompile(`/Type\s*/Pages\b`)
	pdfCount = regexp.MustCompile(`/Count\s+([0-9]{1,6})\b`)
)

// pdf makes a thumbnail of the first page where a tool can, and counts
// the pages.
func (p *Prober) pdf(ctx context.Context, r io.ReadSeeker, src io.ReadSeeker) Facts {
	f := Facts{Pages: p.tools.pages(ctx, src), Thumbnail: p.tools.firstPage(ctx, src)}
	if f.Pages == 0 {
		f.Pages = countPages(r)
	}
	return f
}

// countPages finds the largest count in a page tree that is not compressed;
// others stay uncounted. No PDF is parsed here: it is not worth the danger.
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
