package outbox

import (
	"math"
	"math/rand/v2"
	"time"
)

// after is the wait that follows the given attempt, counted from 1.
func (b Backoff) after(attempt int) time.Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(max(attempt, 1)-1))
	d = min(d, float64(b.Max))
	if b.Jitter > 0 {
		d *= 1 + b.Jitter*(2*rand.Float64()-1)
	}
	return time.Duration(d)
}
