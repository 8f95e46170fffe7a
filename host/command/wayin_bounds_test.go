package command

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// bounds are what each way in has a bound of.
var bounds = []string{"bytes", "count", "time", "connections", "disk"}

// way is a way by which others than the operator reach the host.
type way struct {
	servers   []string          // the packages that serve it
	platforms []string          // the channels that members take
	proof     map[string]string // by the bound: tests, or "none: " and why it needs none
}

// The tests of what several ways share.
const (
	pageRoutes = "host/channel/web.TestEveryRouteOfThePageHasBounds"
	pageDisk   = "host/channel/web.TestADiskThatIsAlmostFullTakesNoFiles host/channel/web.TestOneChatsFilesDoNotTakeTheDiskOfAll host/channel/web.TestAFullDiskOfTheHistoryIsSaidInWords"
	pageHeld   = "e2e/remote.TestTenThousandCrawlersHoldNobodyUp"
	bodies     = "host/httpd.TestALargeWebhookIsNotRead"
	readers    = "host/httpd.TestAReaderThatCrawlsIsCutOff host/httpd.TestABodyThatTricklesEnds"
	doorBytes  = "host/remote.TestAFormIsNoLargerThanTheQuota host/remote.TestBoundsWereNoSettings"
	doorCount  = "host/remote.TestUploadsThatBeginTogetherDoNotExceedWhatAGroupMay host/remote.TestARefusedUploadKeepsNoPlace host/remote.TestCallsWithoutEndFilledTheStore host/remote.TestWaitingFetchesAreBounded"
	doorTime   = "host/httpd.TestABodyThatCameFastMayNotStallForLonger host/remote.TestAnUploadIsGoneADayAfterItsLastByte"
	doorConns  = "host/remote.TestAGroupHasItsConnections host/remote.TestStrangersThatCrawlTakeNoPlaceFromOneThatComes"
	doorDisk   = "host/remote.TestAFullDiskTakesNoBody host/remote.TestCallsThatWaitDoNotFillTheDisk"
	queueCount = "e2e/page.TestAGroupThatFloodsEachToolHasBoundedEffectsAndHoldsUpNobody"
	queueBytes = "e2e/queue.TestBadInputsEndWithAReasonAndStopNobody"
	fetched    = "none: the host itself asks the platform, over connections of its own"
)

// boundedWays has a row for each. A server or a platform without one fails the test.
var boundedWays = map[string]way{
	"a member with a cookie": {servers: []string{"host/channel/web"}, platforms: []string{"web"}, proof: map[string]string{
		"bytes": pageRoutes, "time": pageRoutes, "disk": pageDisk,
		"count":       "host/channel/web.TestOneSessionCannotHoldAllPlaces host/channel/web.TestOneSessionCannotFillTheQueueForPlaces",
		"connections": "host/channel/web.TestOneSessionCannotHoldAllStreams host/channel/web.TestAStreamThatIsNotReadEndsAndCatchesUp " + pageHeld,
	}},
	"a member with the token itself": {servers: []string{"host/channel/web"}, proof: map[string]string{
		"bytes": pageRoutes, "time": pageRoutes, "disk": pageDisk,
		"count":       "host/channel/web.TestTheTokenItselfTakesNoMoreThanASession",
		"connections": "host/channel/web.TestTheTokenItselfTakesNoMoreThanASession host/channel/web.TestASenderHasAShareOfTheStreams",
	}},
	"a member where there is no token": {servers: []string{"host/channel/web"}, proof: map[string]string{
		"bytes": pageRoutes, "time": pageRoutes + " host/channel/web.TestAStreamThatIsTenSecondsBehindEnds", "disk": pageDisk,
		"count": "host/channel/web.TestTwentyCrawlingUploadsDoNotKeepOthersOut", "connections": pageHeld,
	}},
	"by push": {servers: []string{"host/channel/push"}, platforms: []string{"push"}, proof: map[string]string{
		"bytes": bodies, "count": "host/channel/push.TestOfOneReplyAtOnceOneIsTaken", "time": readers, "connections": pageHeld,
		"disk": "none: an answer is one row, and the host's own reserve is kept for these",
	}},
	"by a webhook": {servers: []string{"host/channel/telegram"}, platforms: []string{"telegram"}, proof: map[string]string{
		"bytes": bodies, "count": "host/channel/telegram.TestAMessageWaitsForRoomOnTheDisk", "time": readers, "connections": pageHeld,
		"disk": "host/channel/telegram.TestAMessageWaitsForRoomOnTheDisk",
	}},
	"by a platform that the host asks": {platforms: []string{"whatsapp", "slack", "discord"}, proof: map[string]string{
		"bytes": fetched, "count": fetched, "time": fetched, "connections": fetched,
		"disk": "e2e/kill.TestADiskThatFailsUnderWhatMembersWriteLosesNothing",
	}},
	"by a link": {servers: []string{"host/channel/web"}, proof: map[string]string{
		"bytes": "none: a link takes no body", "disk": "none: a link is only read",
		"count":       "host/links.TestForgedLinksKeepNobodyOut host/links.TestNobodyFetchesForAll host/links.TestOneSiteAndOneLinkDoNotTakeAll host/links.TestWhoIsNoProxyIsNotBelieved",
		"time":        readers,
		"connections": pageHeld,
	}},
	"an assistant by its queue": {proof: map[string]string{
		"bytes": queueBytes, "count": queueCount, "time": "e2e/queue.TestASlowGroupDelaysNoOther",
		"connections": "none: it is a directory",
		"disk":        "e2e/engines.TestContainerThatFillsTheDisk",
	}},
	"an assistant by a drop directory": {proof: map[string]string{
		"bytes": queueBytes, "count": queueCount, "time": "e2e/queue.TestASlowGroupDelaysNoOther",
		"connections": "none: it is a directory",
		"disk":        "e2e/queue.TestFreeDiskZeroTurnsItOff",
	}},
	"an assistant by stdio": {proof: map[string]string{
		"bytes": queueBytes, "count": queueCount, "time": "e2e/queue.TestAFailureAfterTheToolStoppedWaitingReachesTheAssistant",
		"connections": "none: it is one pipe, and ends with its program", "disk": "e2e/engines.TestContainerThatFillsTheDisk",
	}},
	"an assistant by HTTP": {servers: []string{"host/remote"}, proof: map[string]string{
		"bytes": doorBytes + " host/remote.TestMCPHasTheDoorsBounds", "count": doorCount, "time": doorTime, "connections": doorConns, "disk": doorDisk,
	}},
	"an assistant by ssh": {servers: []string{"host/remote"}, proof: map[string]string{
		"bytes": doorBytes, "count": doorCount, "time": doorTime + " host/runtime/ssh.TestAMachineThatFallsSilentLosesItsConnection", "connections": doorConns, "disk": doorDisk,
	}},
	"an assistant at its model": {servers: []string{"host/keys"}, proof: map[string]string{
		"bytes": "host/keys.TestBodyThatIsTooLargeOrPackedIsRefused host/keys.TestBodyOfManySmallValuesIsRefused", "count": "host/keys.TestFifthCallWaits",
		"time": "host/keys.TestAContainerThatHoldsItsConnectionsHeldUpTheOthers", "connections": "host/keys.TestAContainerThatHoldsItsConnectionsHeldUpTheOthers",
		"disk": "host/keys.TestSettlementsThatWaitForTheDiskAreBounded",
	}},
}

// ofTheOperator are servers that only the operator reaches, by a token or on this machine.
var ofTheOperator = []string{"host/operator", "host/console", "host/command/pairpage"}

// TestEveryWayInHasBounds: what one way in lacked was found at another each time. Each has a
// test of each bound, or says why it needs none.
func TestEveryWayInHasBounds(t *testing.T) {
	var servers, platforms []string
	for name, w := range boundedWays {
		if got := slices.Sorted(maps.Keys(w.proof)); !slices.Equal(got, slices.Sorted(slices.Values(bounds))) {
			t.Errorf("%s has bounds of %q, not of %q", name, got, bounds)
		}
		for bound, proof := range w.proof {
			if why, none := strings.CutPrefix(proof, "none: "); none && why != "" {
				continue
			}
			for test := range strings.FieldsSeq(proof) {
				if err := tested(test); err != nil {
					t.Errorf("%s, %s: %v", name, bound, err)
				}
			}
		}
		servers, platforms = append(servers, w.servers...), append(platforms, w.platforms...)
	}
	for _, dir := range httpServers(t) {
		if !slices.Contains(servers, dir) && !slices.Contains(ofTheOperator, dir) {
			t.Errorf("%s serves, and is no way in", dir)
		}
	}
	for _, p := range stage.AllPlatforms() {
		if !slices.Contains(platforms, p.Key()) {
			t.Errorf("the channel %s is no way in", p.Key())
		}
	}
}

// tested says whether a test exists: a directory, in or below which it is, a dot, and its
// name.
func tested(test string) error {
	dir, name, _ := strings.Cut(test, ".")
	found := false
	err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || found || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		found = strings.Contains(string(b), "\nfunc "+name+"(t *testing.T)")
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("there is no test %s", test)
	}
	return err
}

// httpServers are the packages that serve HTTP.
func httpServers(t *testing.T) (dirs []string) {
	t.Helper()
	serves := regexp.MustCompile(`httpd\.Server\{`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && serves.Match(b) {
			dirs = append(dirs, "host/"+filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if dirs = slices.Compact(slices.Sorted(slices.Values(dirs))); len(dirs) < 5 {
		t.Fatalf("only %q serve: this test no longer sees them", dirs)
	}
	return dirs
}
