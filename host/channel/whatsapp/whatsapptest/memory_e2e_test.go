//go:build e2e

package whatsapptest_test

import (
	"io"
	"math/rand/v2"
	"runtime/metrics"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestBigFileNeedsLittleMemory(t *testing.T) {
	const size = 128 << 20
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	before := allocated()
	body := io.LimitReader(rand.NewChaCha8([32]byte{2}), size)
	must(a.SendFile(soon(t), group, whatsapptest.File{Name: "big", MIME: "application/octet-stream", Body: body}))(t)
	got := must(b.Fetch(soon(t), next(t, b).Message))(t)
	if got.Size != size {
		t.Errorf("fetched %d bytes", got.Size)
	}
	// What was allocated in all, garbage included, bounds the peak.
	if grew := allocated() - before; grew > 32<<20 {
		t.Errorf("allocated %d MB for a file of %d MB", grew>>20, size>>20)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
