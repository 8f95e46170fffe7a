package media_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/media"
)

func TestWhatMembersSeeIsCountedWithoutItsFormat(t *testing.T) {
	text := `😀 <b>bo<i>ld</i></b> a &lt;b&gt; &amp;amp; <a href="https://x.example/?a=1&amp;b=2">here</a> <x> </b> <b><pre language="c++">y</pre>`
	shown, marks := media.Shown(text)
	want := []media.Mark{{Kind: "b", From: 3, To: 7}, {Kind: "i", From: 5, To: 7}, {Kind: "a", URL: "https://x.example/?a=1&b=2", From: 20, To: 24}, {Kind: "pre", Language: "c++", From: 34, To: 35}}
	if diff := cmp.Diff(want, marks); diff != "" || shown != "😀 bold a <b> &amp; here <x> </b> y" {
		t.Errorf("%q\n%s", shown, diff)
	}
	if n := media.UTF16Shown.Len(text); n != 35 {
		t.Errorf("%d units", n)
	}
	if shown, marks := media.Shown(media.TagEscape.Replace(text)); shown != text || marks != nil {
		t.Errorf("escaped it shows %q, %v", shown, marks)
	}
}
