package media_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

var names = []struct{ in, want string }{
	{"report.pdf", "report.pdf"},
	{"Année 2026 – bilan.xlsx", "Année 2026 – bilan.xlsx"},
	{"日本語のレポート.pdf", "日本語のレポート.pdf"},
	{"family 👨‍👩‍👧.jpg", "family 👨‍👩‍👧.jpg"},
	{"", "file"},
	{" ", "file"},
	{".", "file"},
	{"..", "file"},
	{"...", "file"},
	{"/", "file"},
	{"../../etc/passwd", "passwd"},
	{"/workspace/group/a.pdf", "a.pdf"},
	{"dir/", "dir"},
	{`C:\Users\ada\a.pdf`, "a.pdf"},
	{"a:b|c?d*e<f>g\"h.txt", "a_b_c_d_e_f_g_h.txt"},
	{"CON", "_CON"},
	{"con.txt", "_con.txt"},
	{"nul .tar.gz", "_nul .tar.gz"},
	{"COM7.log", "_COM7.log"},
	{"lpt¹", "_lpt¹"},
	{"COM10.log", "COM10.log"},
	{"console.log", "console.log"},
	{"aux.", "_aux"},
	{"a.pdf.", "a.pdf"},
	{"a.pdf. . ", "a.pdf"},
	{"Q4: Rep/ort?.pdf", "Q4_ Rep_ort_.pdf"},
	{`a\b.pdf`, "a_b.pdf"},
	{".env", "_.env"},
	{"..hidden.txt", "_.hidden.txt"},
	{".pdf", "file.pdf"},
	{"\u202e.pdf", "file.pdf"},
	{"invoice\u202Efdp.exe", "invoicefdp.exe"},
	{"a\x00b\x1b[2Jc\r\nd.txt", "ab[2Jc d.txt"},
	{"a\tb  c.txt", "a b c.txt"},
	{"\ufeffa\u200b.txt", "a.txt"},
	{"bad\xff\xfe.pdf", "bad__.pdf"},
	{"e\u0301te\u0301.txt", "\u00e9t\u00e9.txt"},
	{"\u3164", "file"},
	{"a\u00a0b.txt", "a b.txt"},
	{"-rf.txt", "-rf.txt"},
	{strings.Repeat("x", 300) + ".pdf", strings.Repeat("x", 195) + ".pdf"},
	{strings.Repeat("x", 300) + ".tar.gz", strings.Repeat("x", 192) + ".tar.gz"},
	{strings.Repeat("ä", 300) + ".jpeg", strings.Repeat("ä", 97) + ".jpeg"},
	{strings.Repeat("x", 300), strings.Repeat("x", 199)},
	{"a." + strings.Repeat("y", 300), "a." + strings.Repeat("y", 197)},
}

func TestSafeName(t *testing.T) {
	for _, tt := range names {
		got := media.SafeName(tt.in)
		if got != tt.want {
			t.Errorf("SafeName(%q) = %q, want %q", tt.in, got, tt.want)
		}
		wantSafe(t, got)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain, ünïcode 日本 \\": "plain, ünïcode 日本 \\",
		"a\nb\tc":              `a\nb\tc`,
		"\x1b[31mred\x7f":      `\x1b[31mred\x7f`,
		"\u009b2J":             `\u009b2J`,
		"x\u202egnp.exe":       `x\u202egnp.exe`,
		"z\u200bw\ufeff":       `z\u200bw\ufeff`,
		"bad\xff\xc3":          `bad\xff\xc3`,
		"real \ufffd":          "real \ufffd",
		"line\u2028sep":        `line\u2028sep`,
		"\u3164":               `\u3164`,
		"it's \"so\"":          "it's \"so\"",
	} {
		if got := media.Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}
