package sample

import (
	"fmt"
	"strings"
	"time"
)

// arrival is when the first ship of a coming day is expected; 0 is tomorrow.
func (r report) arrival(day int) time.Time {
	d := r.made.AddDate(0, 0, day+1)
	return time.Date(d.Year(), d.Month(), d.Day(), 6+day%3, 0, 0, 0, d.Location())
}

// schedule is the coming week's plan, in words.
func (r report) schedule() string {
	var b strings.Builder
	b.WriteString("## The harbour's coming week\n\n| day | ships expected | first at |\n|---|---:|---|\n")
	for i, d := range r.days {
		at := r.arrival(i)
		fmt.Fprintf(&b, "| %s | %d | %s |\n", at.Format("Monday, 2 January"), d.ships, at.Format("15:04"))
	}
	b.WriteString("\nThe ships are invented, and this is a plan in words only: I do not remind you of it.")
	return b.String()
}

// calendar is the coming week's plan as an iCalendar file (RFC 5545): an event a day,
// at the reader's local time.
func (r report) calendar() []byte {
	lines := []string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Longshore//Sample assistant//EN"}
	for i, d := range r.days {
		at := r.arrival(i)
		lines = append(lines, "BEGIN:VEVENT",
			"UID:"+at.Format("20060102")+"@harbour.invalid",
			"DTSTAMP:"+r.made.UTC().Format("20060102T150405Z"),
			"DTSTART:"+at.Format("20060102T150405"), "DURATION:PT1H",
			fmt.Sprintf("SUMMARY:First of %d ships", d.ships), "LOCATION:Harbour", "END:VEVENT")
	}
	return []byte(strings.Join(append(lines, "END:VCALENDAR", ""), "\r\n"))
}

// csv is the week's figures as a table with a head.
func (r report) csv() []byte {
	var b strings.Builder
	b.WriteString("day,containers,ships,mean wait in minutes\n")
	for _, d := range r.days {
		fmt.Fprintf(&b, "%s,%d,%d,%.0f\n", d.date.Format(time.DateOnly), d.boxes, d.ships, d.wait.Minutes())
	}
	return []byte(b.String())
}
