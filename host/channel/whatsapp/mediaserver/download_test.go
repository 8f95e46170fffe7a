package mediaserver

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// The library took "/%zz" for trouble of the network and asked every host five
// times, instead of once for all.
func TestAPathThatIsNoAddressIsRefusedForGood(t *testing.T) {
	for path, good := range map[string]bool{
		"/v/t62.7118-24/1234_n.enc?ccb=11-4&oh=01_Q&oe=66&_nc_sid=5e": true, "/a%2Fb": true,
		"/%zz": false, "/a%": false, "": false, "a": false, "//evil.example/a": false, "/@evil.example": false, `/\evil.example`: false,
		"/a b": false, "/a\n": false, "/a#b": false, "/" + strings.Repeat("a", maxPath): false,
	} {
		err := checkPath(path)
		if good != (err == nil) || err != nil && channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%.40q: %v", path, err)
		}
	}
}
