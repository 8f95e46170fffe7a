package media_test

import (
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

func TestWhatASenderClaimsIsMadeHarmless(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, claim, wantName, wantType string
		size                            uint64
		want                            int64
	}{
		{name: "../a\x00.pdf", claim: "Application/PDF; x=y\r\n", wantName: "a.pdf", wantType: "application/pdf", size: 7, want: 7},
		{claim: "image/jpeg", wantName: "image-20261122-030405.jpg", wantType: "image/jpeg", size: 1 << 63, want: 1 << 62},
		{name: "x", claim: "no type", wantName: "x", wantType: "application/octet-stream"},
		{name: "x", claim: "a/" + strings.Repeat("b", 300), wantName: "x", wantType: "application/octet-stream"},
	} {
		got := media.Claimed(media.Image, tt.name, tt.claim, tt.size, at)
		if got.Name != tt.wantName || got.MIME != tt.wantType || got.Size != tt.want || got.Kind != media.Image {
			t.Errorf("%q, %q: %+v", tt.name, tt.claim, got)
		}
	}
}
