package keys

import (
	"cmp"
	"math"
	"strings"
)

// Usage is what a call used, in tokens. The kinds exclude each other.
type Usage struct {
	Input   int64 // read anew
	Cached  int64 // read from the service's cache
	Written int64 // read anew, and written to that cache
	Output  int64
}

// Total is the sum of all kinds.
func (u Usage) Total() int64 { return u.Input + u.Cached + u.Written + u.Output }

// Price is what a million tokens cost, in US dollars. Cached and Written are as
// Input if they are 0.
type Price struct{ Input, Cached, Written, Output float64 }

// Nanos is an amount of money in billionths of a US dollar.
type Nanos int64

// USD is the amount in US dollars.
func (n Nanos) USD() float64 { return float64(n) / 1e9 }

// NanosOf is an amount of US dollars.
func NanosOf(usd float64) Nanos { return Nanos(math.Round(usd * 1e9)) }

// cost is what a usage costs.
func (p Price) cost(u Usage) Nanos {
	cached, written := cmp.Or(p.Cached, p.Input), cmp.Or(p.Written, p.Input)
	usd := float64(u.Input)*p.Input + float64(u.Cached)*cached + float64(u.Written)*written + float64(u.Output)*p.Output
	return Nanos(math.Ceil(usd * 1e3)) // of a million tokens
}

// Prices are by the model's name. A name that ends in * stands for all that begin so;
// the longest one counts.
type Prices map[string]Price

// of returns a model's price. ok is false if it has none.
func (p Prices) of(model string) (price Price, ok bool) {
	if price, ok = p[model]; ok {
		return price, true
	}
	longest := -1
	for name, one := range p {
		if start, any := strings.CutSuffix(name, "*"); any && strings.HasPrefix(model, start) && len(start) > longest {
			price, ok, longest = one, true, len(start)
		}
	}
	return price, ok
}
