package guard

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine was started, also what it has slept: no change of the wall clock
// moves it. All processes of a machine see the same.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("guard: CLOCK_BOOTTIME: " + err.Error()) // every Linux since 2.6.39 has it
	}
	return time.Duration(t.Nano())
}
