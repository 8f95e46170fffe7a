package media_test

import (
	"bytes"
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

// BenchmarkClassify takes the cheapest and the dearest content: a signature at
// the front, and text, which the library tries last.
func BenchmarkClassify(b *testing.B) {
	all := samples(b)
	for name, head := range map[string][]byte{
		"photo.png": all["png"],
		"notes.txt": bytes.Repeat(all["text"], media.HeadSize/len(all["text"])+1)[:media.HeadSize],
		"noise.bin": bytes.Repeat(all["noise"], media.HeadSize/len(all["noise"])+1)[:media.HeadSize],
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := media.Classify(name, "", head, 1<<20, media.Auto); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
