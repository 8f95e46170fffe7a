//go:build !e2e

package outbox_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	goleak.VerifyTestMain(m)
}
