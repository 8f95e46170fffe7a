//go:build e2e

package ipc

import "testing"

func TestHundredThousandNames(t *testing.T) { takesNames(t, 100_000) }
