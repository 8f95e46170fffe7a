package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// bill is one call in the ledger.
type bill struct {
	reserved reservation
	kept     bool // the ledger has the reservation
	most     Usage
	price    Price
	meter    *meter // nil: no answer came
	free     bool   // the service charges nothing

	sent atomic.Bool // the service may have the call
}

// settleTime bounds the wait for the disk after a call.
const settleTime = 30 * time.Second

// open reserves what a call may use.
func (p *Proxy) open(ctx context.Context, c call, set Settings, most Usage) (*bill, *refusal) {
	price, known := set.Prices.of(c.model)
	if !known && set.Budget.Cost > 0 {
		return nil, &refusal{http.StatusForbidden, fmt.Sprintf("the budget of this group is in money, and the model %.100q has no price; the operator may add it to prices", c.model)}
	}
	b := &bill{most: most, price: price}
	var err error
	b.reserved, err = p.ledger.reserve(ctx, cmp.Or(set.Purse, p.folder), Spent{most.Total(), price.cost(most)}, set.Budget, time.Now())
	over, refused := errors.AsType[*overBudget](err)
	p.over.Store(refused && !over.busy)
	if refused {
		p.log.Warn("call of the model refused", "group", p.folder, "model", c.model, "reason", over.words)
		return nil, over.refusal()
	}
	b.kept = err == nil
	if err == nil {
		return b, nil
	}
	p.log.Error("call of the model not recorded", "group", p.folder, "error", err)
	if set.Budget.Limited() { // which nobody would count
		return nil, &refusal{http.StatusServiceUnavailable, "the host cannot record what the call uses; try again"}
	}
	return b, nil
}

// settle puts what the call used in the place of its reservation. If the disk does not
// take that, the reservation counts until the ledger has tried again.
func (p *Proxy) settle(b *bill) {
	if !b.kept {
		return
	}
	var used Usage
	switch {
	case b.free || !b.sent.Load():
	case b.meter == nil:
		used = b.most
	default:
		used = b.meter.used(b.most)
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTime) // the assistant may be gone
	defer cancel()
	if err := p.ledger.settle(ctx, b.reserved, used, b.price.cost(used)); err != nil {
		p.log.Error("what a call of the model used is not recorded yet; until then its reservation counts", "group", p.folder, "error", err)
	}
}
