//go:build e2e

package bench

import (
	"context"
	"errors"
	"os"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// siteBatch is what lies in a group's queue, for a bridge that is not run. After
// it was carried, end waits until it is unlinked, and fails if it is not.
func siteBatch(s *stage.Site, folder string) (_ *spool.Batch, end func()) {
	s.Helper()
	spool := spool.New(spool.Options{Dir: s.Cfg.Layout().IPCDir(), Folders: []string{folder}, Poll: true})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- spool.Run(ctx) }()
	batch, err := spool.Next(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return batch, func() {
		s.Helper()
		cancel()
		if err := errors.Join(<-ran, spool.Close()); err != nil {
			s.Fatal(err)
		}
		if left, err := os.ReadDir(s.Messages(folder)); err != nil || len(left) > 0 {
			s.Fatalf("left in the queue: %v, %v", left, err)
		}
	}
}
