package keys

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Budget is what a group's calls may use in a day or a month.
type Budget struct {
	Tokens int64 // 0: any number
	Cost   Nanos // 0: any amount
	Month  bool  // in a month of the calendar; otherwise in a day
	Zone   *time.Location
	Key    string // of longshore.yaml that sets it
}

// Limited reports whether the budget limits anything.
func (b Budget) Limited() bool { return b.Tokens > 0 || b.Cost > 0 }

// String describes the budget for people.
func (b Budget) String() string {
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", b.Cost.USD()))
	}
	return strings.Join(parts, " and ") + " a " + map[bool]string{true: "month", false: "day"}[b.Month]
}

// period returns when the day or month around now begins and ends.
func (b Budget) period(now time.Time) (from, until time.Time) {
	zone := cmp.Or(b.Zone, time.UTC)
	y, m, d := now.In(zone).Date()
	if b.Month {
		return time.Date(y, m, 1, 0, 0, 0, 0, zone), time.Date(y, m+1, 1, 0, 0, 0, 0, zone)
	}
	return time.Date(y, m, d, 0, 0, 0, 0, zone), time.Date(y, m, d+1, 0, 0, 0, 0, zone)
}

// Standing is how a group stands with its budget.
type Standing struct {
	Spent        Spent // in this period
	Reserved     Spent // by calls under way, at most
	Begins, Ends time.Time
}

// Left is the part of the budget that is not spent, as a fraction.
func (s Standing) Left(b Budget) float64 {
	left := 1.0
	if b.Tokens > 0 {
		left = min(left, 1-float64(s.Spent.Tokens)/float64(b.Tokens))
	}
	if b.Cost > 0 {
		left = min(left, 1-float64(s.Spent.Cost)/float64(b.Cost))
	}
	return max(left, 0)
}

// overBudget is the error of a call for which the budget has too little left.
type overBudget struct {
	words string
	until time.Time // when the budget begins anew
	busy  bool      // only calls under way are in the way
}

func (o *overBudget) Error() string { return o.words }

// admit returns an *overBudget if a call that uses at most so much does not fit.
func (s Standing) admit(b Budget, most Spent) error {
	over := func(add Spent) bool {
		return b.Tokens > 0 && s.Spent.Tokens+add.Tokens > b.Tokens || b.Cost > 0 && s.Spent.Cost+add.Cost > b.Cost
	}
	with := func(add Spent) Spent { return Spent{s.Spent.Tokens + add.Tokens, s.Spent.Cost + add.Cost} }
	under := Spent{most.Tokens + s.Reserved.Tokens, most.Cost + s.Reserved.Cost}
	switch {
	case over(most):
		words := fmt.Sprintf("usage limit: the budget of this group, %s, has too little left for this call (at most %s, and %s are used). The operator may raise %s; it begins anew at %s",
			b, amount(b, most), amount(b, s.Spent), b.raise(with(most)), s.Ends.Format("2006-01-02 15:04 MST"))
		return &overBudget{words: words, until: s.Ends}
	case over(under):
		words := fmt.Sprintf("calls under way hold the rest of this group's budget, %s: at most %s, and this one %s. Try again once they have ended; or the operator may raise %s",
			b, amount(b, s.Reserved), amount(b, most), b.raise(with(under)))
		return &overBudget{words: words, busy: true}
	}
	return nil
}

// raise names the figures that so much does not fit into, with what would do.
func (b Budget) raise(need Spent) string {
	var figures []string
	key := cmp.Or(b.Key, "budget")
	if b.Tokens > 0 && need.Tokens > b.Tokens {
		figures = append(figures, fmt.Sprintf("%s.tokens to %d", key, need.Tokens))
	}
	if b.Cost > 0 && need.Cost > b.Cost {
		figures = append(figures, fmt.Sprintf("%s.usd to %.2f", key, math.Ceil(need.Cost.USD()*100)/100))
	}
	return strings.Join(figures, " and ")
}

// amount is a use in what the budget limits.
func amount(b Budget, s Spent) string {
	if b.Cost > 0 && b.Tokens > 0 {
		return fmt.Sprintf("%d tokens and %.4f USD", s.Tokens, s.Cost.USD())
	}
	if b.Cost > 0 {
		return fmt.Sprintf("%.4f USD", s.Cost.USD())
	}
	return fmt.Sprintf("%d tokens", s.Tokens)
}

// refusal is how the assistant hears of it.
func (o *overBudget) refusal() *refusal {
	if o.busy {
		return &refusal{http.StatusTooManyRequests, o.words}
	}
	return &refusal{http.StatusPaymentRequired, o.words}
}
