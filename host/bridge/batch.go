package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// acceptance has what was accepted of a batch and is not recorded yet.
type acceptance struct {
	registry   *groups.Registry // as it was before the first
	items      []*spool.Item
	deliveries []judged // one for each item
	load       outbox.Load
	refused    map[string]refused // by the request's id
}

// refused is the reason why a request of the batch was refused, and which conversation had
// asked.
type refused struct {
	why   *ipc.Refusal
	bound string
}

func (a *acceptance) add(it *spool.Item, d judged) {
	a.items = append(a.items, it)
	a.deliveries = append(a.deliveries, d)
	a.load = addLoad(a.load, &d.Delivery)
}

// sent returns the messages of a request of the batch that are not recorded yet.
func (a *acceptance) sent(request string, dst destination) []records.SentPart {
	i := slices.IndexFunc(a.deliveries, func(d judged) bool { return d.Request == request && d.Address() == dst.address() })
	if i < 0 || !dst.from.Sees(objectOf(&a.deliveries[i].Delivery)) {
		return nil
	}
	return a.deliveries[i].SentParts()
}

func keysOf(batch *spool.Batch) []string {
	keys := make([]string, len(batch.Items))
	for i, it := range batch.Items {
		keys[i] = keyOf(it)
	}
	return keys
}

// keyOf returns the key of a request: the same file seen again after a crash has the same
// key, a new request under an old name has another.
func keyOf(it *spool.Item) string {
	h := sha256.New()
	for _, s := range []string{it.Folder, it.Name, strconv.FormatInt(it.ModTime.UnixNano(), 10)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	h.Write(it.Body)
	return hex.EncodeToString(h.Sum(nil))[:32]
}
