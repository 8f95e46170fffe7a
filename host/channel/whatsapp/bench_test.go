package whatsapp_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

func benchWorld(b *testing.B) *world {
	b.Helper()
	w := newWorld(b, func(o *whatsapp.Options) {
		o.Limits = whatsapp.DefaultLimits()
		o.Limits.Kinds[media.Document] = media.Limit{Bytes: 2 << 30}
		o.Log = nil
	})
	w.run()
	w.send(text(family, "the keys are exchanged"))
	w.seen(family, 1)
	return w
}

var sizes = map[string]int64{"1KiB": 1 << 10, "1MiB": 1 << 20, "100MiB": 100 << 20}

// BenchmarkSend is a file from Send to WhatsApp's acknowledgement, beside the
// library alone doing the same: ns/op of "channel" over that of "library" is
// what the channel adds.
func BenchmarkSend(b *testing.B) {
	for _, name := range []string{"1KiB", "1MiB", "100MiB"} {
		w := benchWorld(b)
		m, err := fileOnDisk(noiseFile(b, sizes[name]))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/channel", func(b *testing.B) {
			b.SetBytes(m.Files[0].Size)
			for b.Loop() {
				m.ID = newID()
				w.send(m)
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			member := w.srv.NewMember(b, "4915550000077", "Bare")
			w.srv.AddMember(waJID(family), "4915550000077")
			b.SetBytes(m.Files[0].Size)
			for b.Loop() {
				src, err := m.Files[0].Open()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := member.SendFile(context.Background(), waJID(family), whatsapptest.File{Name: "large.bin", MIME: "application/octet-stream", Body: src}); err != nil {
					b.Fatal(err)
				}
				src.Close()
			}
		})
	}
}

// BenchmarkToMember is a file from Send until a member's client holds its
// bytes, hash checked.
func BenchmarkToMember(b *testing.B) {
	for _, name := range []string{"1KiB", "1MiB", "100MiB"} {
		b.Run(name, func(b *testing.B) {
			w := benchWorld(b)
			m, err := fileOnDisk(noiseFile(b, sizes[name]))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(m.Files[0].Size)
			for n := 2; b.Loop(); n++ {
				m.ID = newID()
				w.send(m)
				if got := w.fetch(w.seen(family, n)[n-1].Message); got.SHA256 != m.Files[0].SHA256 {
					b.Fatal("other bytes arrived")
				}
			}
		})
	}
}

// BenchmarkUploadCPU compares the CPU time of a send of 100 MiB with that of the
// cryptography it cannot do without: AES-256-CBC, an HMAC over the ciphertext,
// a SHA-256 over the plaintext and one over the ciphertext. The send's time
// holds the loopback server's own work: hashing the body once more.
func BenchmarkUploadCPU(b *testing.B) {
	const size = 100 << 20
	w := benchWorld(b)
	m, err := fileOnDisk(noiseFile(b, size))
	if err != nil {
		b.Fatal(err)
	}
	var floor, sending time.Duration
	n := 0
	for b.Loop() {
		n++
		floor += cpuOf(func() { cryptoFloor(b, size) })
		sending += cpuOf(func() {
			m.ID = newID()
			w.send(m)
		})
	}
	b.ReportMetric(float64(floor.Milliseconds())/float64(n), "floor-ms/op")
	b.ReportMetric(float64(sending.Milliseconds())/float64(n), "send-ms/op")
	b.ReportMetric(float64(sending)/float64(floor), "send/floor")
}

func cryptoFloor(b *testing.B, size int) {
	b.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	cbc, mac := cipher.NewCBCEncrypter(block, make([]byte, 16)), hmac.New(sha256.New, make([]byte, 32))
	plain, secret := sha256.New(), sha256.New()
	buf := make([]byte, 32<<10)
	for done := 0; done < size; done += len(buf) {
		plain.Write(buf)
		cbc.CryptBlocks(buf, buf)
		mac.Write(buf)
		secret.Write(buf)
	}
}

// cpuOf is the CPU time of this process while do runs.
func cpuOf(do func()) time.Duration {
	usage := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := usage()
	do()
	return usage() - before
}

// BenchmarkManyGroups sends 20 small files to each of 100 groups.
func BenchmarkManyGroups(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := benchWorld(b)
		for range 100 {
			w.newChat()
		}
		b.StartTimer()
		for range 20 {
			for i := range 100 {
				m := document(family, noise(1000))
				m.Chat = chatNumber(i + 1)
				w.send(m)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/2000/float64(b.N), "ms/file")
}

func noiseFile(b *testing.B, size int64) string {
	b.Helper()
	if size >= 1<<20 {
		return noiseOnDisk(b, size)
	}
	path := b.TempDir() + "/small.bin"
	if err := os.WriteFile(path, noise(int(size)), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}
