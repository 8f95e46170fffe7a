//go:build !linux

package backup

import (
	"math"
	"os"
)

// dataFrom says that all is data.
func dataFrom(_ *os.File, at int64) (begin, end int64, err error) { return at, math.MaxInt64, nil }
