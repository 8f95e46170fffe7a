//go:build e2e

package docker_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// The kernel's requests to make and remove a bridge, of linux/sockios.h.
const (
	siocbraddbr = 0x89a0
	siocbrdelbr = 0x89a1
)

// TestNetworksReachWhatTheyShould has a server on each network's own address
// on the host, and one on loopback, and calls them from inside.
func TestNetworksReachWhatTheyShould(t *testing.T) {
	const bridge = "lsbr0"
	addBridge(t, bridge)
	w, p := newPrivateWorld(t, "--bridge="+bridge)
	const named = "longshore-test-named"
	api := p.API()
	api.NetworkRemove(t.Context(), named, client.NetworkRemoveOptions{}) // of a test that was killed
	if _, err := api.NetworkCreate(t.Context(), named, client.NetworkCreateOptions{Driver: "bridge"}); err != nil {
		t.Fatal(err)
	}
	defer api.NetworkRemove(t.Context(), named, client.NetworkRemoveOptions{})

	loopback := greet(t, "127.0.0.1")
	own := map[string]string{"bridge": greet(t, addressOf(t, bridge)), named: greet(t, gateway(t, p, named))}
	for _, tc := range []struct {
		network string
		want    string // own bridge, own named network, loopback
	}{
		{"bridge", "yes yes no"}, // what listens on any of the host's addresses but loopback
		{named, "yes yes no"},
		{"none", "no no no"},
		{"host", "yes yes yes"},
	} {
		t.Run(tc.network, func(t *testing.T) {
			w.runtime.Network = tc.network
			script := `try() { (exec 3<>"/dev/tcp/$1/$2" && read -r said <&3 && [ "$said" = welcome ]) 2>/dev/null && echo yes || echo no; }`
			for _, at := range []string{own["bridge"], own[named], loopback} {
				host, port, _ := net.SplitHostPort(at)
				script += fmt.Sprintf("\ntry %s %s", host, port)
			}
			spec := w.spec(sayOutputOf(script))
			spec.Command[0] = "/bin/bash"
			s := w.start(spec)
			out := <-s.Outputs()
			if err := s.Wait(); err != nil || out.Result == nil {
				t.Fatalf("ended with %v; its log:\n%s", err, w.log())
			}
			if got := strings.Join(lines(*out.Result), " "); got != tc.want {
				t.Errorf("reached %q, want %q", got, tc.want)
			}
		})
	}
}

// greet answers every connection to an address of the host's with a word.
func greet(t *testing.T, ip string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "welcome")
			c.Close()
		}
	}()
	return l.Addr().String()
}

// gateway is the host's address on a network.
func gateway(t *testing.T, p *containertest.Private, network string) string {
	t.Helper()
	found, err := p.API().NetworkInspect(t.Context(), network, client.NetworkInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Network.IPAM.Config {
		if c.Gateway.IsValid() {
			return c.Gateway.String()
		}
	}
	t.Fatalf("network %s has no gateway", network)
	return ""
}

// addressOf is the host's address on a bridge of its own.
func addressOf(t *testing.T, bridge string) string {
	t.Helper()
	device, err := net.InterfaceByName(bridge)
	if err != nil {
		t.Fatal(err)
	}
	all, err := device.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Fatalf("the engine gave %s no address: %v", bridge, all)
	return ""
}

// addBridge makes a bridge, which the test's end removes. The engine gives it
// its address.
func addBridge(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // the engine, too, is root's to start
	}
	control, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := append([]byte(name), 0)
	do := func(request uintptr) error {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(control), request, uintptr(unsafe.Pointer(&text[0]))); errno != 0 {
			return errno
		}
		return nil
	}
	if err := do(siocbraddbr); err != nil && err != syscall.EEXIST {
		t.Fatalf("make a bridge: %v", err)
	}
	t.Cleanup(func() {
		defer syscall.Close(control)
		var down struct {
			name  [syscall.IFNAMSIZ]byte
			flags uint16
			_     [22]byte
		}
		copy(down.name[:], name)
		syscall.Syscall(syscall.SYS_IOCTL, uintptr(control), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&down)))
		if err := do(siocbrdelbr); err != nil {
			t.Errorf("remove the bridge: %v", err)
		}
	})
}
