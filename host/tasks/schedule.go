package tasks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// The types of schedules, as NanoClaw v1 calls them.
const (
	Cron     = "cron"     // five fields, in the zone
	Interval = "interval" // milliseconds from the end of a run to the next
	Once     = "once"     // an RFC 3339 time, or a local time in the zone
)

// The bounds of a schedule.
const (
	MinInterval = time.Minute
	MaxInterval = 366 * 24 * time.Hour
	maxValue    = 256                       // bytes
	maxAhead    = 20 * 366 * 24 * time.Hour // of once
)

// Schedule says when a task is due.
type Schedule struct {
	Type  string
	Value string

	zone   *time.Location // of its own, if it has one
	cron   *cron.SpecSchedule
	days   days
	hourly bool // due in every hour: what counts is the time that passes, not what clocks show
	every  time.Duration
	at     time.Time
}

// Parse reads a schedule, whose times are in zone, or in that which "CRON_TZ=zone " before the
// value names. Its errors are refusals with the code invalid_schedule.
func Parse(kind, value string, zone *time.Location) (Schedule, error) {
	s := Schedule{Type: kind, Value: strings.TrimSpace(value), zone: zone}
	if len(value) > maxValue {
		return s, invalid("the schedule is too long", "write it in at most "+strconv.Itoa(maxValue)+" bytes")
	}
	value, err := s.ownZone()
	switch {
	case err != nil:
		return s, err
	case kind == Cron:
		return s, s.parseCron(value)
	case kind == Interval:
		return s, s.parseInterval()
	case kind == Once:
		return s, s.parseOnce(value)
	}
	return s, invalid("schedule_type is none of cron, interval and once", "use one of them")
}

func invalid(message, hint string) error {
	return &refusal.Error{Code: "invalid_schedule", Message: message, Hint: hint}
}

// ownZone takes a zone off the beginning of the value, as cron programs write it.
func (s *Schedule) ownZone() (rest string, err error) {
	name, rest, _ := strings.Cut(s.Value, " ")
	name, has := strings.CutPrefix(strings.TrimPrefix(name, "CRON_"), "TZ=")
	if !has {
		return s.Value, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return "", invalid(media.Printable(name)+" is no time zone", `write its name in the IANA database, such as "CRON_TZ=Europe/Berlin 0 9 * * *"`)
	}
	s.zone = zone
	return strings.TrimSpace(rest), nil
}

func (s *Schedule) parseInterval() error {
	ms, err := strconv.ParseInt(s.Value, 10, 64)
	if err != nil || ms <= 0 {
		return invalid("the interval is not a number of milliseconds", `write milliseconds, such as "3600000" for an hour`)
	}
	if ms < MinInterval.Milliseconds() || ms > MaxInterval.Milliseconds() {
		return invalid("the interval is shorter than a minute or longer than a year", `use "60000" (a minute) or more; use cron or once for a date far ahead`)
	}
	s.every = time.Duration(ms) * time.Millisecond
	return nil
}

func (s *Schedule) parseOnce(value string) error {
	date, clock, _ := strings.Cut(strings.Replace(value, " ", "T", 1), "T")
	value = date + "T" + strings.Replace(clock, " ", "", 1)                    // of "… 09:00:00 +01:00"
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} { // both take fractions of a second
		for _, offset := range []string{"Z07:00", "Z0700", "Z07"} {
			if at, err := time.Parse(form+offset, value); err == nil {
				s.at = at
				return nil
			}
		}
		if naive, err := time.Parse(form, value); err == nil {
			s.at = onClock(naive, s.zone)
			return nil
		}
	}
	return invalid("the time cannot be read", `write a local time such as "2026-02-01T15:30:00", or one with a zone such as "2026-02-01T15:30:00+01:00"`)
}

// First is when a task that is made now is due for the first time. A time that is
// over, or farther away than twenty years, is refused.
func (s Schedule) First(now time.Time) (time.Time, error) {
	next := s.Next(now)
	switch {
	case s.Type == Once && !s.at.After(now):
		return next, invalid("the time "+InZone(s.at, s.zone)+" is over; it is "+InZone(now, s.zone)+" now", "give a time that is to come")
	case s.Type == Once && s.at.Sub(now) > maxAhead:
		return next, invalid("the time is more than twenty years away", "give an earlier one")
	}
	return next, nil
}

// Next is when the task is due after a time; for an interval, if a run ends then. Zero:
// never.
//
// A time that clocks skip, because summer time begins, is due in the first minute
// after it. A time that clocks show twice is due once, the first time. A schedule for
// every hour goes by the time that passes, on such days too.
func (s Schedule) Next(after time.Time) time.Time {
	switch s.Type {
	case Interval:
		return after.Add(s.every)
	case Once:
		if s.at.After(after) {
			return s.at
		}
		return time.Time{}
	}
	if s.hourly {
		return s.nextOn(after.In(s.zone))
	}
	naive := clock(after.In(s.zone)).Add(-24 * time.Hour) // clocks that were put back have shown later times
	for {
		naive = s.nextOn(naive)
		if naive.IsZero() {
			return naive
		}
		if at := onClock(naive, s.zone); at.After(after) {
			return at
		}
	}
}

// clock is what a clock shows, as a time in UTC.
func clock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// onClock is when clocks in a zone first show a time, or the end of the gap if they
// skip it.
func onClock(naive time.Time, zone *time.Location) time.Time {
	t := time.Date(naive.Year(), naive.Month(), naive.Day(), naive.Hour(), naive.Minute(), naive.Second(), naive.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	switch shown := clock(t); {
	case shown.After(naive): // in a gap, and read with the offset before it
		return start
	case shown.Before(naive):
		return end
	case start.IsZero():
		return t
	}
	_, now := t.Zone()
	_, before := start.Add(-time.Second).Zone()
	if earlier := t.Add(time.Duration(now-before) * time.Second); earlier.Before(start) {
		return earlier
	}
	return t
}

// InZone is a time for people.
func InZone(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2 Jan 2006, 15:04 MST")
}

// Words says a schedule in words, with its next times after now: up to three. next is
// when the task is due; zero: it is not.
func (s Schedule) Words(next time.Time) string {
	if next.IsZero() {
		return "not due any more"
	}
	switch s.Type {
	case Once:
		return "once, on " + InZone(next, s.zone)
	case Interval:
		return fmt.Sprintf("%v after each run ends; next on %s", s.every, InZone(next, s.zone))
	}
	times := []string{InZone(next, s.zone)}
	for len(times) < 3 {
		if next = s.Next(next); next.IsZero() {
			break
		}
		times = append(times, InZone(next, s.zone))
	}
	return "next: " + strings.Join(times, "; ") + " (times of " + s.zone.String() + ")"
}
