package serve

import (
	"maps"
	"sync"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// refused counts a request that went to the errors folder, and reports it to the audit trail.
func (h *Host) refused(q spool.Quarantined, it *spool.Item) {
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

func (r *refusals) counts() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.code)
}
