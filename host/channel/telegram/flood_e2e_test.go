//go:build e2e

package telegram_test

import "testing"

func TestAFloodOfMessagesComesInOnceAndInOrder(t *testing.T) { comesInOnceAndInOrder(t, 10_000) }
