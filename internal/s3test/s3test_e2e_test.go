//go:build e2e

package s3test

import "testing"

// TestVersitygwIsBuilt is what .ci/run starts first, so that other tests find the program.
func TestVersitygwIsBuilt(t *testing.T) { Program(t) }
