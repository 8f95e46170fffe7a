package serve

import (
	"errors"
	"net"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
)

// openSSH adds the runtimes of assistants over ssh to all.
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

// gateway lets assistants that the host starts, and that share no directory with it, in at the remote
// server, which is opened after the runtimes. It implements ssh.Access and docker.Access.
type gateway struct{ host *Host }

func (g gateway) Admit(l net.Listener, folder, thread string) (token string, end func(), err error) {
	if g.host.remote == nil {
		return "", nil, errNoEntrance
	}
	return g.host.remote.Admit(l, folder, thread)
}

var errNoEntrance = errors.New("the first assistant with runtime: ssh or share: none needs a restart of the host")
