package keys

import (
	"bytes"
	"encoding/json"
	"mime"
)

const (
	maxReport = 8 << 20 // bytes of an answer, or of an event of a stream, that is read for a report
	maxTokens = 1 << 30 // of one kind in one call
	perByte   = 8       // bytes of a stream for a token, at least: for streams that are cut
)

// meter reads in an answer, while it passes, what the service says that the call used.
type meter struct {
	form   form
	stream bool
	usage  Usage
	seen   bool  // the service reported something
	final  bool  // it reported all
	bytes  int64 // of the answer
	thinks bool  // the answer may hide part of its output
	lost   bool  // a part was too long to be read

	line  []byte // of a stream: the line that has not ended
	event []byte // the data of the event that has not ended
	cr    bool   // the last byte was a carriage return, which ended a line
	whole []byte // of an answer that is no stream
}

func newMeter(f form, contentType string) *meter {
	kind, _, _ := mime.ParseMediaType(contentType)
	return &meter{form: f, stream: kind == "text/event-stream"}
}

// read takes the next bytes of the answer.
func (m *meter) read(p []byte) {
	m.bytes += int64(len(p))
	if !m.stream {
		m.whole = m.add(m.whole, p)
		return
	}
	for len(p) > 0 {
		if m.cr && p[0] == '\n' {
			m.cr, p = false, p[1:]
			continue
		}
		m.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			m.line = m.add(m.line, p)
			return
		}
		m.line = m.add(m.line, p[:end])
		m.cr = p[end] == '\r'
		p = p[end+1:]
		m.endLine()
	}
}

// add appends, unless that becomes too long: then nothing of it is read.
func (m *meter) add(to, p []byte) []byte {
	if m.lost || len(to)+len(p) > maxReport {
		m.lost = true
		return nil
	}
	return append(to, p...)
}

func (m *meter) endLine() {
	line := m.line
	m.line = m.line[:0]
	if len(line) == 0 && !m.lost {
		m.endEvent()
		return
	}
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(m.event)+len(data) <= maxReport {
		m.event = append(append(m.event, bytes.TrimPrefix(data, []byte(" "))...), '\n')
	} else if ok {
		m.lost = true
	}
	if len(line) == 0 { // the event that was too long ends here
		m.lost, m.event = false, nil
	}
}

func (m *meter) endEvent() {
	if bytes.Contains(m.event, []byte(`"usage`)) {
		m.report(m.event)
	}
	if m.event = m.event[:0]; cap(m.event) > 64<<10 {
		m.event = nil
	}
}

// close takes the end of an answer that was not cut.
func (m *meter) close() {
	if m.stream || m.lost {
		return
	}
	if m.form != google { // which streams a list without alt=sse
		m.report(m.whole)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(m.whole, &list) != nil {
		m.report(m.whole)
		return
	}
	for _, one := range list {
		m.report(one)
	}
}

// report reads one JSON document of the service's. One that is none, or names impossible
// numbers, says nothing.
func (m *meter) report(doc []byte) {
	var u Usage
	var ok, final bool
	switch m.form {
	case anthropic:
		u, ok, final = anthropicUsage(doc)
	case openAI:
		u, ok, final = openAIUsage(doc)
	case google:
		u, ok, final = googleUsage(doc)
	}
	if !ok {
		return
	}
	for _, n := range []int64{u.Input, u.Cached, u.Written, u.Output} {
		if n < 0 || n > maxTokens {
			return
		}
	}
	m.seen, m.final = true, m.final || final
	m.usage = Usage{max(m.usage.Input, u.Input), max(m.usage.Cached, u.Cached), max(m.usage.Written, u.Written), max(m.usage.Output, u.Output)}
}

// used is what the call counts as. most is its reservation: it counts if the service has
// taken the call and reported nothing. An answer that was cut may have used more than was
// reported: its output counts by its length, or as reserved if the answer may hide a part of it.
func (m *meter) used(most Usage) Usage {
	switch {
	case m.final:
		return m.usage
	case !m.seen:
		return most
	}
	u, output := m.usage, min(m.bytes/perByte, most.Output)
	if m.thinks {
		output = most.Output
	}
	u.Output = max(u.Output, output)
	return u
}

func anthropicUsage(doc []byte) (u Usage, ok, final bool) {
	type usage struct {
		Input   int64 `json:"input_tokens"`
		Cached  int64 `json:"cache_read_input_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
		Output  int64 `json:"output_tokens"`
	}
	var in struct {
		Type    string `json:"type"`
		Usage   *usage `json:"usage"`
		Message struct {
			Usage *usage `json:"usage"`
		} `json:"message"`
	}
	if json.Unmarshal(doc, &in) != nil {
		return u, false, false
	}
	from := in.Usage
	switch in.Type {
	case "message_start":
		from = in.Message.Usage
	case "message", "message_delta":
		final = true
	default:
		return u, false, false
	}
	if from == nil {
		return u, false, false
	}
	return Usage(*from), true, final
}

func openAIUsage(doc []byte) (u Usage, ok, final bool) {
	type details struct {
		Cached int64 `json:"cached_tokens"`
	}
	type usage struct {
		Prompt        *int64  `json:"prompt_tokens"` // of chat completions
		PromptDetails details `json:"prompt_tokens_details"`
		Completion    int64   `json:"completion_tokens"`
		Input         *int64  `json:"input_tokens"` // of responses
		InputDetails  details `json:"input_tokens_details"`
		Output        int64   `json:"output_tokens"`
	}
	var in struct {
		Usage    *usage `json:"usage"`
		Response struct {
			Usage *usage `json:"usage"`
		} `json:"response"`
	}
	if json.Unmarshal(doc, &in) != nil {
		return u, false, false
	}
	from := in.Usage
	if from == nil {
		from = in.Response.Usage
	}
	switch {
	case from == nil:
		return u, false, false
	case from.Prompt != nil:
		u = Usage{Input: *from.Prompt, Cached: from.PromptDetails.Cached, Output: from.Completion}
	case from.Input != nil:
		u = Usage{Input: *from.Input, Cached: from.InputDetails.Cached, Output: from.Output}
	default:
		return u, false, false
	}
	u.Input -= u.Cached // which it holds; more cached than read is impossible
	return u, true, true
}

func googleUsage(doc []byte) (u Usage, ok, final bool) {
	var in struct {
		Candidates []struct {
			Reason string `json:"finishReason"`
		} `json:"candidates"`
		Usage *struct {
			Prompt   int64 `json:"promptTokenCount"`
			Cached   int64 `json:"cachedContentTokenCount"` // of the prompt's
			Tools    int64 `json:"toolUsePromptTokenCount"`
			Output   int64 `json:"candidatesTokenCount"`
			Thoughts int64 `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(doc, &in) != nil || in.Usage == nil {
		return u, false, false
	}
	for _, c := range in.Candidates {
		final = final || c.Reason != ""
	}
	n := in.Usage
	if min(n.Prompt, n.Cached, n.Tools, n.Output, n.Thoughts) < 0 || max(n.Prompt, n.Tools, n.Output, n.Thoughts) > maxTokens/2 {
		return u, false, false
	}
	return Usage{Input: n.Prompt - n.Cached + n.Tools, Cached: n.Cached, Output: n.Output + n.Thoughts}, true, final
}
