package serve

import (
	"errors"
	"net"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// machine returns the runtime of an assistant over ssh.
func (r *runtimes) machine(a config.Assistant) runtime.Runtime {
	program, err := ssh.Program()
	if err != nil {
		return absent{cause.With(cause.NotInstalled, err)}
	}
	s := ssh.Runtime{Target: ssh.Target(a.SSH), Program: program, Home: r.h.owner, Access: gateway{r.h}, Log: r.h.opts.Log}
	if a.Keys == "proxy" {
		s.Model = r.h.models.guarded
	}
	return s
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
