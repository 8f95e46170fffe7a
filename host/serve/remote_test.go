package serve

import (
	"reflect"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/remote/intake"
)

// TestNoBoundOfTheRemoteServerIsLeftOut: the configuration has each, with the remote server's own default.
func TestNoBoundOfTheRemoteServerIsLeftOut(t *testing.T) {
	c, err := config.Parse("longshore.yaml", []byte("state: "+t.TempDir()+"\nchannels: {web: {}}\n"), func(string) string { return "" }, []channel.Platform{web.Platform()})
	if err != nil {
		t.Fatal(err)
	}
	if got := remoteLimits(c.Remote.Limits).Filled(); got != intake.DefaultLimits() {
		t.Errorf("%+v, want %+v", got, intake.DefaultLimits())
	}
	set := reflect.ValueOf(&c.Remote.Limits).Elem()
	for i := range set.NumField() {
		before := remoteLimits(c.Remote.Limits)
		set.Field(i).SetInt(set.Field(i).Int() + 1)
		if remoteLimits(c.Remote.Limits) == before {
			t.Errorf("%s changes nothing", set.Type().Field(i).Name)
		}
	}
}
