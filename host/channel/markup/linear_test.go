package markup

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/util"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/media"
)

// A line of ordinary words took 8 s at 62 KB, and its writer could have that again
// with each look at the page. So the time for 32 KB is compared with that for 4 KB: 8
// times as much is linear, 64 times is a square. It is the processor's time of this
// thread, and the best of some tries, so other work on the machine does not count.
const (
	small, large = 4 << 10, 32 << 10
	mostTimes    = 32
	tries        = 8
)

// looked are the characters at which no parser of the library begins, but that one looks
// for, and what all others stand for.
const looked = "|\\&:\n"

// triggers are the characters at which a parser begins, and those that one looks for.
func triggers(t *testing.T) (all []string) {
	t.Helper()
	of := []byte(looked)
	for _, p := range slices.Concat(blockParsers(), inlineParsers()) {
		of = append(of, triggersOf(t, p)...)
	}
	slices.Sort(of)
	for _, c := range slices.Compact(of) {
		if (c < '0' || c > '9') && c != ' ' || c == '1' { // digits are alike, and spaces are in the texts
			all = append(all, string(rune(c)))
		}
	}
	if len(all) < 18 {
		t.Fatalf("only %q", all)
	}
	return all
}

func triggersOf(t *testing.T, p util.PrioritizedValue) []byte {
	t.Helper()
	one, ok := p.Value.(interface{ Trigger() []byte })
	if !ok {
		t.Fatalf("%T has no triggers", p.Value)
	}
	return one.Trigger()
}

// renderers are all platforms' forms, by what a text's tree becomes. To make the tree is a part
// of each; a form as written has none, and is measured with the tree.
var renderers = []media.Markup{media.MarkupWhatsApp, media.MarkupSlack, media.MarkupDiscord, media.MarkupTelegram, media.MarkupPlain, media.MarkupWritten}

// repeated is a text of at most a size. It ends with a whole unit: what ends a text can decide
// how all of it is read, and both sizes are compared.
func repeated(head, unit string) func(size int) string {
	return func(size int) string { return head + strings.Repeat(unit, (size-len(head))/len(unit)) }
}

// longer is a text of a size in which each word is longer than the one before.
func longer(unit string) func(size int) string {
	return func(size int) string {
		var b strings.Builder
		for n := 1; b.Len() < size; n++ {
			b.WriteString(strings.Repeat(unit, n) + "a ")
		}
		return b.String()[:size]
	}
}

// linear fails if something takes more than linear time on a text.
func linear(t *testing.T, name string, of func(size int) string, do func(string)) {
	t.Helper()
	least := func(size int) int64 {
		text := of(size)
		before := processorTime(t)
		do(text)
		return processorTime(t) - before
	}
	few, many := int64(1<<62), int64(1<<62)
	for range tries {
		runtime.GC()
		for range 3 {
			few = min(few, least(small))
		}
		if many = min(many, least(large)); many <= mostTimes*few {
			return
		}
	}
	t.Errorf("%s: %q takes %d µs at 4 KB and %d µs at 32 KB, %d times as much", name, media.Cut(of(small), 60), few/1000, many/1000, many/few)
}

// processorTime is that of this thread so far, in nanoseconds.
func processorTime(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

func render(form media.Markup) func(string) {
	return func(text string) {
		switch form {
		case media.MarkupWritten:
			Parse(text)
		case media.MarkupWhatsApp: // with the Markdown of each part
			Messages(text, form, 500, media.UTF16)
		default:
			Parts(text, form, 500, media.UTF16)
		}
	}
}

// TestATextTakesTimeByItsLengthAlone takes each character at which a parser begins, and
// each two of them, beside each other and with words between.
func TestATextTakesTimeByItsLengthAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would meet the longer text alone
	all := triggers(t)
	for i, one := range all {
		for j, two := range all[:i+1] {
			form := renderers[(i+j)%len(renderers)]
			beside, apart := repeated("", []string{one + two, one + "a " + two + "a\n"}[(i+j)%2]), repeated("", one+"a"+two+" ")
			both := func(size int) string { return beside(size/2-1) + "\n\n" + apart(size/2-1) }
			linear(t, string(form), both, render(form))
		}
	}
}

// TestHostileTextsTakeTimeByTheirLengthAlone has what takes the library, and took the
// renderers, the square of a length.
func TestHostileTextsTakeTimeByTheirLengthAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would meet the longer text alone
	wide := strings.Repeat("|-", 500) + "|\n"
	texts := map[string]func(int) string{"longer ticks": longer("`"), "longer words": longer("a"), "longer stars": longer("*"), "longer brackets": longer("["), "longer tildes": longer("~")}
	for name, unit := range map[string][2]string{
		"prose":          {"", "The quick brown fox jumps over the lazy dog, and then it rests. "},
		"prose in lines": {"", "The quick brown fox jumps over the lazy dog,\n"},
		"one long word":  {"", "abcdefghij"},
		"a list":         {"", "- an item\n"}, "a deep list": {strings.Repeat("- ", 40), "a\n" + strings.Repeat("  ", 20) + "- b\n"},
		"a list with tabs": {"", "-\ta\n\t-\tb\n"}, "quotes": {"", "> > > *a*\n"}, "a quote": {"", "> *a* `b`\n"},
		"a table": {"", "| a | b |\n|---|---|\n| c | d |\n"}, "many rows": {"| a | b |\n|---|---|\n", "| c | d |\n"},
		"a wide table": {wide + wide, "a\n"}, "a long name": {"a|" + strings.Repeat("b", 1500) + "\n-|-\n", "c|d\n"},
		"escaped pipes": {"a|b\n-|-\n", "`\\|`|`\\|`\n"},
		"addresses":     {"", "https://a.example/b?c=d "}, "brackets about addresses": {"", "(http://a)"}, "an address's end": {"http://a", "&amp;"},
		"images": {"", "![a](b)"}, "open links": {"", "[a](b "}, "open titles": {"", "[a](b \"c"}, "open pointed links": {"", "[a](<b"},
		"links with marks": {"", "[*](b) "}, "references": {"", "[a][b]\n"}, "brackets in lines": {"", "[a]\n"}, "nested brackets": {strings.Repeat("[", 1500), "*a* ]"},
		"links": {"", "[a b](http://c)"}, "bold": {"", "**a** "}, "bold in one line of code": {"", "`a b`**c** "},
		"openers and closers": {strings.Repeat("*a ", 600), "b_ "}, "delimiters": {"", "*a_ ~b "}, "nested": {strings.Repeat("*_", 1000), "a_*"},
		"ticks": {"", "`"}, "tildes": {"", "~"}, "escaped tildes": {"\\", "~"}, "stars": {"", "*"},
		"unspaced marks": {"", "**注意：**请"}, "footnotes": {"", "[^1]"}, "alerts": {"", "> [!NOTE]\n"}, "lines below": {"", "a\n---\n"},
		"an address of brackets": {"(http://a", ")"}, "addresses that end in marks": {"", "*a http://a_ "},
		"code": {"```\n", "a b c d\n"}, "code in one line": {"```\n", "a b c d "}, "blocks of code": {"", "*b*\n```\na\n```\n"},
		"signs behind an indent": {"x\n" + strings.Repeat(" ", 300), ">"}, "references of characters": {"", "&a"}, "mentions": {"", "@a "},
	} {
		texts[name] = repeated(unit[0], unit[1])
	}
	for name, of := range texts {
		for _, form := range renderers {
			linear(t, name+", "+string(form), of, render(form))
		}
	}
}
