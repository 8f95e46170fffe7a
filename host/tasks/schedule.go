package tasks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/longshore-bridge/longshore/internal/refusal"
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

	zone   *time.Location
	cron   cron.Schedule
	hourly bool // due in every hour: what counts is the time that passes, not what clocks show
	every  time.Duration
	at     time.Time
}

// Parse reads a schedule, whose times are in zone. Its errors are refusals with the
// code invalid_schedule.
func Parse(kind, value string, zone *time.Location) (Schedule, error) {
	s := Schedule{Type: kind, Value: strings.TrimSpace(value), zone: zone}
	if len(value) > maxValue {
		return s, invalid("the schedule is too long", "write it in at most "+strconv.Itoa(maxValue)+" bytes")
	}
	switch kind {
	case Cron:
		return s, s.parseCron()
	case Interval:
		return s, s.parseInterval()
	case Once:
		return s, s.parseOnce()
	}
	return s, invalid("schedule_type is none of cron, interval and once", "use one of them")
}

func invalid(message, hint string) error {
	return &refusal.Error{Code: "invalid_schedule", Message: message, Hint: hint}
}

const cronHint = `write five fields: minute hour day month weekday, such as "0 9 * * 1-5" for 9:00 from Monday to Friday`

func (s *Schedule) parseCron() error {
	fields := strings.Fields(s.Value)
	if len(fields) != 5 || strings.ContainsAny(s.Value, "@=") {
		return invalid(fmt.Sprintf("a cron schedule has five fields, and this one has %d", len(fields)), cronHint)
	}
	weekday, err := sunday(fields[4])
	if err == nil {
		// With a step, a field of days counts as one that names days. The parser takes it for a star.
		fields[2], fields[4] = strings.Replace(fields[2], "*/", "1-31/", 1), strings.Replace(weekday, "*/", "0-6/", 1)
		s.cron, err = cron.ParseStandard(strings.Join(fields, " "))
	}
	if err != nil {
		return invalid(fmt.Sprintf("the cron schedule cannot be read: %s", strings.ToValidUTF8(err.Error(), "")), cronHint)
	}
	s.hourly = strings.HasPrefix(fields[1], "*") && !strings.Contains(fields[1], "/") || fields[1] == "*/1"
	if s.Next(time.Now()).IsZero() {
		return invalid("the cron schedule has no day in the next five years", "check its day and month; "+cronHint)
	}
	return nil
}

// sunday replaces 7 by 0 in a field of weekdays, as cron programs read it. The parser
// knows 0 alone.
func sunday(field string) (string, error) {
	var parts []string
	for _, part := range strings.Split(field, ",") {
		days, step, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(days, "-")
		switch {
		case part == "7":
			part = "0"
		case isRange && last == "7":
			from, err := strconv.Atoi(first)
			by := 1
			if stepped && err == nil {
				by, err = strconv.Atoi(step)
			}
			if err != nil || from < 0 || from > 7 || by < 1 {
				return "", errors.New("the weekdays " + strconv.Quote(part) + " are no range")
			}
			var each []string
			for day := from; day <= 7; day += by {
				each = append(each, strconv.Itoa(day%7))
			}
			part = strings.Join(each, ",")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ","), nil
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

// localForms are the forms of a time without a zone.
var localForms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05.999"}

func (s *Schedule) parseOnce() error {
	if at, err := time.Parse(time.RFC3339Nano, s.Value); err == nil {
		s.at = at
		return nil
	}
	for _, form := range localForms {
		if naive, err := time.Parse(form, s.Value); err == nil {
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
		return s.cron.Next(after.In(s.zone))
	}
	naive := clock(after.In(s.zone)).Add(-24 * time.Hour) // clocks that were put back have shown later times
	for {
		naive = s.cron.Next(naive)
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
