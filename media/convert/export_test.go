package convert

import "time"

// SetTime has each conversion take at most d instead of Time.
func (c *Converter) SetTime(d time.Duration) { c.time = d }
