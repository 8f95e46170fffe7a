//go:build e2e

package discord_test

import "testing"

func TestAFloodOfMessagesComesInOnceAndInOrder(t *testing.T) { comesInOnceAndInOrder(t, 10_000) }
