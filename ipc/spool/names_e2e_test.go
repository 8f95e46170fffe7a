//go:build e2e

package spool

import "testing"

func TestHundredThousandNames(t *testing.T) { takesNames(t, 100_000) }
