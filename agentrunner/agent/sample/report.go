package sample

import (
	"fmt"
	"time"
)

// report is the week that both files show. The figures are invented; the days are
// the seven before the report's.
type report struct {
	made time.Time
	days []day
	goal int // boxes a day
}

// day is one row of the table and one bar of the chart.
type day struct {
	date  time.Time
	boxes int           // containers unloaded
	ships int           // ships alongside
	wait  time.Duration // mean time of a ship at anchor
}

func newReport(now time.Time) report {
	figures := []struct {
		boxes, ships int
		wait         time.Duration
	}{
		{412, 3, 95 * time.Minute},
		{538, 4, 70 * time.Minute},
		{430, 4, 82 * time.Minute},
		{603, 5, 48 * time.Minute},
		{634, 5, 41 * time.Minute},
		{387, 3, 110 * time.Minute},
		{294, 2, 64 * time.Minute},
	}
	r := report{made: now, goal: 500}
	for i, f := range figures {
		date := now.AddDate(0, 0, i-len(figures))
		r.days = append(r.days, day{date: date, boxes: f.boxes, ships: f.ships, wait: f.wait})
	}
	return r
}

func (r report) boxes() (sum int) {
	for _, d := range r.days {
		sum += d.boxes
	}
	return sum
}

func (r report) ships() (sum int) {
	for _, d := range r.days {
		sum += d.ships
	}
	return sum
}

// wait is the mean over the days.
func (r report) wait() time.Duration {
	var sum time.Duration
	for _, d := range r.days {
		sum += d.wait
	}
	return sum / time.Duration(len(r.days))
}

func (r report) best() day {
	best := r.days[0]
	for _, d := range r.days {
		if d.boxes > best.boxes {
			best = d
		}
	}
	return best
}

// alt is what the chart shows, for members who cannot see it.
func (r report) alt() string {
	return fmt.Sprintf("A bar for each day's containers; the best day is %s with %d.", r.best().date.Format("Monday"), r.best().boxes)
}

// top is the chart's upper edge: the next full hundred above every bar.
func (r report) top() int {
	return (max(r.best().boxes, r.goal)/100 + 1) * 100
}

func (r report) span() string {
	first, last := r.days[0].date, r.days[len(r.days)-1].date
	return first.Format("2 January") + " to " + last.Format("2 January 2006")
}

func hours(d time.Duration) string {
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
