package serve

import (
	"errors"
	"net"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
)

// openSSH makes the runtimes of assistants on other machines.
func (h *Host) openSSH(c *config.Config, all *runtimes) error {
	if !usesSSH(c) {
		return nil
	}
	program, err := ssh.Program()
	if err != nil {
		return err
	}
	for name, a := range c.Assistants {
		if a.Runtime == config.OverSSH {
			r := ssh.Runtime{Target: ssh.Target(a.SSH), Program: program, Home: h.Layout.State, Access: gateway{h}, Log: h.opts.Log}
			if a.Keys == "proxy" {
				r.Model = h.models.guarded
			}
			all.ssh[name] = r
		}
	}
	return nil
}

// gateway lets in the assistants that the host starts on other machines. The remote server is opened
// after the runtimes.
type gateway struct{ host *Host }

// Admit implements ssh.Access.
func (g gateway) Admit(l net.Listener, folder, thread string) (token string, end func(), err error) {
	if g.host.remote == nil {
		return "", nil, errNoEntrance
	}
	return g.host.remote.Admit(l, folder, thread)
}

var errNoEntrance = errors.New("the first assistant with runtime: ssh or share: none needs a restart of the host")
