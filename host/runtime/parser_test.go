package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/runtime"
)

const (
	start = "---NANOCLAW_OUTPUT_START---\n"
	end   = "---NANOCLAW_OUTPUT_END---\n"
)

func said(text string) string {
	return start + fmt.Sprintf(`{"status":"success","result":%q}`, text) + "\n" + end
}

// parse writes the stream in pieces of size and tells what was found, as one
// line each.
func parse(stream string, size int) (found []string, broken int) {
	p := runtime.Parser{Emit: func(o runtime.Output) {
		text := "null"
		if o.Result != nil {
			text = *o.Result
		}
		found = append(found, strings.TrimRight(fmt.Sprintf("%s %s %s %s", o.Status, text, o.NewSessionID, o.Error), " "))
	}}
	for len(stream) > 0 {
		n := min(size, len(stream))
		p.Write([]byte(stream[:n]))
		stream = stream[n:]
	}
	p.Close()
	return found, p.Broken
}

func TestParserFindsOutputsInNoise(t *testing.T) {
	huge := strings.Repeat("x", runtime.MaxOutput)
	tests := map[string]struct {
		stream string
		want   []string
		broken int
	}{
		"one":                     {said("hello"), []string{"success hello"}, 0},
		"two":                     {said("a") + said("b"), []string{"success a", "success b"}, 0},
		"noise around":            {"npm warn\n" + said("a") + "more\n" + said("b") + "end", []string{"success a", "success b"}, 0},
		"windows line ends":       {strings.ReplaceAll(said("a"), "\n", "\r\n"), []string{"success a"}, 0},
		"indented JSON":           {start + "{\n  \"status\": \"success\",\n  \"result\": \"a\"\n}\n" + end, []string{"success a"}, 0},
		"session only":            {start + `{"status":"success","result":null,"newSessionId":"s1"}` + "\n" + end, []string{"success null s1"}, 0},
		"error":                   {start + `{"status":"error","result":null,"error":"no key"}` + "\n" + end, []string{"error null  no key"}, 0},
		"no newline at the end":   {strings.TrimSuffix(said("a"), "\n"), []string{"success a"}, 0},
		"marker inside the text":  {said("---NANOCLAW_OUTPUT_END---"), []string{"success ---NANOCLAW_OUTPUT_END---"}, 0},
		"end missing, then good":  {start + `{"status":"success","result":"lost"}` + "\n" + said("b"), []string{"success b"}, 1},
		"end missing at the end":  {said("a") + start + `{"status":"succ`, []string{"success a"}, 1},
		"end without start":       {end + said("a"), []string{"success a"}, 1},
		"no JSON":                 {start + "oops\n" + end + said("a"), []string{"success a"}, 1},
		"two documents":           {start + "{}{}\n" + end, nil, 1},
		"unknown status":          {start + `{"status":"maybe","result":"x"}` + "\n" + end, nil, 1},
		"result is no text":       {start + `{"status":"success","result":7}` + "\n" + end, nil, 1},
		"control characters":      {"\x1b[2J\x00\x07" + "\n" + said("a\x1b[31m"), nil, 1}, // raw ESC is no JSON
		"escaped control":         {start + `{"status":"success","result":"a\u001b"}` + "\n" + end, []string{"success a\x1b"}, 0},
		"start inside a line":     {"log: " + start + said("a"), []string{"success a"}, 0},
		"too large":               {said(huge) + said("a"), []string{"success a"}, 1},
		"too many lines":          {start + strings.Repeat("12345678\n", runtime.MaxOutput/8) + end + said("a"), []string{"success a"}, 1},
		"endless line of noise":   {huge + huge + "\n" + said("a"), []string{"success a"}, 0},
		"nothing":                 {"", nil, 0},
		"start, noise, no end":    {start + huge + huge, nil, 1},
		"blank lines and spaces ": {"\n\n  " + strings.TrimSpace(start) + "  \n" + `{"status":"success","result":""}` + "\n\n" + end, []string{"success"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 4096, len(test.stream) + 1} {
				if size < 4096 && len(test.stream) > 1<<20 {
					continue
				}
				found, broken := parse(test.stream, size)
				if diff := cmp.Diff(test.want, found); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
				if broken != test.broken {
					t.Errorf("in pieces of %d: %d broken, want %d", size, broken, test.broken)
				}
			}
		})
	}
}

// FuzzParser wants the same answer however the stream is cut, and a good
// output behind any garbage to be found.
func FuzzParser(f *testing.F) {
	f.Add([]byte(said("a")), uint64(1))
	f.Add([]byte(start+"{"+end+start), uint64(2))
	f.Add([]byte("\x00\xff\r\n"+start+`{"status":"error"}`+"\r\n"+end), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		whole := string(stream) + "\n" + said("still here")
		want, wantBroken := parse(whole, len(whole))
		if len(want) == 0 || want[len(want)-1] != "success still here" {
			t.Fatalf("the last output is lost: %q", want)
		}
		random := rand.New(rand.NewPCG(seed, seed))
		got, gotBroken := parse(whole, 1+random.IntN(50))
		if diff := cmp.Diff(want, got); diff != "" || wantBroken != gotBroken {
			t.Fatalf("cut otherwise (-want +got):\n%s\n%d and %d broken", diff, wantBroken, gotBroken)
		}
	})
}
