//go:build !race

package whatsapptest_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// With a message under way, whatsmeow asks a stream that has just ended with
// an error whether it is connected, without the lock under which it closes.
// The race detector rightly complains, so it is not on here.
func TestStreamErrorWithAMessageUnderWay(t *testing.T) {
	mishap{whatsapptest.Fault{Do: whatsapptest.StreamError, Code: 503}, nil, 1, 1}.happens(t)
}
