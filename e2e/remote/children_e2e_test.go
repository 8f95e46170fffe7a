//go:build e2e

package remote

import "github.com/longshore-bridge/longshore/e2e/stage"

// children are the further programs that this test binary can be.
func children() []stage.Child { return []stage.Child{{Env: crawlEnv, Main: mainCrawl}} }
