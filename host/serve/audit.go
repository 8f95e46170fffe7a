package serve

import (
	"maps"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// openAudit opens the trail, if one is kept. The outbox's lock is held. A command that
// carries no request does without.
func (h *Host) openAudit(cfg *config.Config) (err error) {
	if cfg.Audit.Off || h.opts.Idle {
		return nil
	}
	h.audit, err = audit.Open(audit.Options{
		Dir: h.Layout.Audit(), Log: h.opts.Log,
		Keep:     func() time.Duration { return h.Config().Audit.Keep.Std() },
		LeaveOut: func() []string { return h.Config().Audit.LeaveOut },
	})
	return err
}

// refused notes a request in the errors folder.
func (h *Host) refused(q ipc.Quarantined, it *ipc.Item) {
	h.refusals.add(q.Code)
	if h.audit != nil {
		report.Refused(h.audit, q, it)
	}
}

// refusals counts refused requests by code. The zero value has none.
type refusals struct {
	mu   sync.Mutex
	code map[string]int64
}

func (r *refusals) add(code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.code == nil {
		r.code = map[string]int64{}
	}
	r.code[code]++
}

func (r *refusals) all() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.code)
}
