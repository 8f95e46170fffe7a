package media

import (
	"strings"
	"testing"
)

// The rule that keeps a name from making a picture: only content with a
// signature of its own, or of its container, is shown in a chat.
func TestTheTableNeverMakesAPictureOfTextOrNoise(t *testing.T) {
	seen := map[string]bool{}
	for _, ft := range fileTypes {
		if seen[ft.ext] || ft.ext != strings.ToLower(ft.ext) || strings.HasPrefix(ft.ext, ".") {
			t.Errorf("row %q is there twice or not spelled as looked up", ft.ext)
		}
		seen[ft.ext] = true
		if ft.mime != canonical(ft.mime) {
			t.Errorf("%s: %s is not the spelling that is looked up", ft.ext, ft.mime)
		}
		if kindOf(ft.mime) != Document && (ft.active || ft.within == inText || ft.within == inAny || ft.within == inZip) {
			t.Errorf("%s: a %s by its name alone", ft.ext, kindOf(ft.mime))
		}
	}
}
