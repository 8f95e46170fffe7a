package runtime

import (
	"bytes"
	"encoding/json"
)

// The lines around an output, as in NanoClaw v1.
const (
	outputStart = "---NANOCLAW_OUTPUT_START---"
	outputEnd   = "---NANOCLAW_OUTPUT_END---"
)

// MaxOutput is the size of the largest output, in bytes; v1 has the same limit.
// A larger output is discarded and counted in Broken.
const MaxOutput = 10 << 20

// maxNoise limits a line outside an output, in bytes; it suffices to recognise
// a marker.
const maxNoise = 4 << 10

// Parser finds the outputs in an assistant's stdout, which arrives in pieces of
// any size. It keeps at most MaxOutput bytes. Emit must be set. A Parser is for
// one goroutine.
type Parser struct {
	Emit func(Output) // called for each output, in order

	// Broken counts what is not a valid output: markers without their
	// counterpart, invalid JSON, an output that is too large or has an unknown
	// status.
	Broken int

	line   []byte // the unfinished line
	long   bool   // the unfinished line exceeded its limit
	body   []byte // the lines since the start marker
	inside bool
	over   bool // the body exceeded MaxOutput
}

// Write takes a piece of the stream. It never fails.
func (p *Parser) Write(piece []byte) (int, error) {
	n := len(piece)
	for len(piece) > 0 {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			p.grow(piece)
			break
		}
		p.grow(piece[:end])
		p.finishLine()
		piece = piece[end+1:]
	}
	return n, nil
}

// Close ends the stream; the last line may lack its newline.
func (p *Parser) Close() error {
	p.finishLine()
	if p.inside {
		p.Broken++
		p.reset(false)
	}
	return nil
}

func (p *Parser) grow(piece []byte) {
	limit := maxNoise
	if p.inside {
		limit = MaxOutput
	}
	if room := limit - len(p.line); len(piece) > room {
		piece, p.long = piece[:max(room, 0)], true
	}
	p.line = append(p.line, piece...)
}

func (p *Parser) finishLine() {
	line, long := bytes.TrimSpace(p.line), p.long
	switch {
	case !long && string(line) == outputStart:
		if p.inside { // the END marker of the output before is missing
			p.Broken++
		}
		p.reset(true)
	case !p.inside:
		if !long && string(line) == outputEnd {
			p.Broken++
		}
	case !long && string(line) == outputEnd:
		p.finishOutput()
		p.reset(false)
	case long || len(p.body)+len(p.line)+1 > MaxOutput:
		p.over, p.body = true, nil
	case !p.over:
		p.body = append(append(p.body, p.line...), '\n')
	}
	if cap(p.line) > 1<<16 { // do not keep the memory of one huge line
		p.line = nil
	}
	p.line, p.long = p.line[:0], false
}

func (p *Parser) reset(inside bool) {
	p.inside, p.over, p.body = inside, false, nil
}

func (p *Parser) finishOutput() {
	var out Output
	if p.over || json.Unmarshal(p.body, &out) != nil || (out.Status != Success && out.Status != Failure && out.Status != Waiting) {
		p.Broken++
		return
	}
	p.Emit(out)
}
