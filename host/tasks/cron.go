package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/longshore-bridge/longshore/media"
)

const cronHint = `write five fields: minute hour day month weekday, such as "0 9 * * 1-5" for 9:00 from Monday to Friday`

// days are the days of a cron schedule as bits, with what npm's cron-parser knows besides.
type days struct {
	month, week       uint64
	anyMonth, anyWeek bool   // the field is a star
	last              bool   // L: the last day of the month
	lastWeek          uint64 // 5L: the last Friday of the month
	nth               int    // 5#2: of the weekdays, the second one of the month; 0: all
}

// has reports whether t is on one of the days.
func (d *days) has(t time.Time) bool {
	noon := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
	weekday := uint64(1) << noon.Weekday()
	month := d.month&(1<<noon.Day()) != 0 || d.last && noon.AddDate(0, 0, 1).Day() == 1
	week := d.week&weekday != 0 && (d.nth == 0 || (noon.Day()+6)/7 == d.nth) ||
		d.lastWeek&weekday != 0 && noon.AddDate(0, 0, 7).Month() != noon.Month()
	if d.anyMonth || d.anyWeek {
		return month && week
	}
	return month || week
}

func (s *Schedule) parseCron(value string) error {
	fields := strings.Fields(value)
	if len(fields) != 5 || strings.ContainsAny(value, "@=") {
		return invalid(fmt.Sprintf("a cron schedule has five fields, and this one has %d", len(fields)), cronHint)
	}
	plain := slices.Clone(fields)
	plain[2], plain[4] = s.days.takeLast(fields[2]), sunday(s.days.takeWeekdays(fields[4]))
	var masks [5]uint64
	for i, name := range []string{"minute (0 to 59)", "hour (0 to 23)", "day (1 to 31, or L)", "month (1 to 12)", "weekday (0 to 7, or such as 5L and 5#2)"} {
		var err error
		if masks[i], err = maskOf(i, plain[i]); err != nil && plain[i] != "" {
			return invalid(fmt.Sprintf("%s cannot be read as the %s", strconv.Quote(media.Printable(fields[i])), name), cronHint)
		}
	}
	const every = 1<<32 - 1 // which days they are, s.days says
	s.cron = &cron.SpecSchedule{Second: 1, Minute: masks[0], Hour: masks[1], Dom: every, Month: masks[3], Dow: every, Location: time.Local}
	s.days.month, s.days.week = masks[2], masks[4]
	s.days.anyMonth, s.days.anyWeek = strings.Trim(fields[2], "*?") == "", strings.Trim(fields[4], "*?") == ""
	const allHours = 1<<24 - 1
	s.hourly = masks[1]&allHours == allHours
	if s.Next(time.Now()).IsZero() {
		return invalid("the cron schedule has no day in the next five years", "check its day and month; "+cronHint)
	}
	return nil
}

// maskOf reads the i-th field. Its bits are the values.
func maskOf(i int, field string) (uint64, error) {
	all := []string{"*", "*", "*", "*", "*"}
	all[i] = field
	read, err := cron.ParseStandard(strings.Join(all, " "))
	spec, ok := read.(*cron.SpecSchedule)
	if err != nil || !ok {
		return 0, errors.Join(err, errors.New("the field cannot be read"))
	}
	mask := []uint64{spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}[i]
	if mask == 0 {
		return 0, errors.New("the field has no value")
	}
	return mask, nil
}

// takeLast takes L off a field of days, and returns the others.
func (d *days) takeLast(field string) string {
	items := strings.Split(field, ",")
	d.last = slices.Contains(items, "L")
	return strings.Join(slices.DeleteFunc(items, func(item string) bool { return item == "L" }), ",")
}

// takeWeekdays takes the last weekdays of a month off the field, and the number of which one of
// the month counts. What it cannot take it leaves, for maskOf to refuse.
func (d *days) takeWeekdays(field string) string {
	if day, nth, has := strings.Cut(field, "#"); has {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 || n > 5 || strings.ContainsAny(day, ",-/*?") {
			return field
		}
		d.nth = n
		return day
	}
	return strings.Join(slices.DeleteFunc(strings.Split(field, ","), func(item string) bool {
		day, last := strings.CutSuffix(item, "L")
		if !last || strings.ContainsAny(day, "-/*?") {
			return false
		}
		mask, err := maskOf(4, sunday(day))
		d.lastWeek |= mask
		return err == nil
	}), ",")
}

// sunday replaces 7 by 0 in a field of weekdays, as cron programs read it. The parser
// knows 0 alone, and refuses what is left.
func sunday(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		span, step, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "-")
		if part == "7" {
			parts[i] = "0"
		}
		if !isRange || last != "7" {
			continue
		}
		from, err := strconv.Atoi(first)
		by := 1
		if stepped && err == nil {
			by, err = strconv.Atoi(step)
		}
		if err != nil || from < 0 || from > 7 || by < 1 {
			continue
		}
		var each []string
		for day := from; day <= 7; day += by {
			each = append(each, strconv.Itoa(day%7))
		}
		parts[i] = strings.Join(each, ",")
	}
	return strings.Join(parts, ",")
}

// nextOn returns the next time after t, by t's clock; zero if there is none in five years.
func (s *Schedule) nextOn(t time.Time) time.Time {
	for end := t.AddDate(5, 0, 0); t.Before(end); {
		t = s.cron.Next(t)
		if t.IsZero() || s.days.has(t) {
			return t
		}
		if night := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location()).Add(-time.Second); night.After(t) {
			t = night
		}
	}
	return time.Time{}
}
