package link_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/longshore-bridge/longshore/host/channel/link"
)

// poller is a platform that is asked for news.
type poller interface {
	Login(ctx context.Context, token string) (account string, err error)
	Poll(ctx context.Context) (news []string, err error) // waits until there are some
}

var errToken = errors.New("no such token")

// A channel with a long poll: connect logs in, and asks for news until that fails.
func Example() {
	var platform poller = office{}
	ctx, cancel := context.WithCancel(context.Background())
	l := link.New("Post", slog.New(slog.DiscardHandler))
	connect := func(ctx context.Context, up func(string)) error {
		account, err := platform.Login(ctx, "secret")
		if errors.Is(err, errToken) {
			return &link.Stop{Code: "post_token", Message: "Post does not take the token", Hint: "write a new one into longshore.yaml"}
		}
		if err != nil {
			return err // tried again
		}
		up("connected as " + account)
		for {
			news, err := platform.Poll(ctx)
			if err != nil {
				return err
			}
			_, detail := l.Connected()
			fmt.Println(detail, news)
			cancel()
		}
	}
	err := l.Run(ctx, func(ctx context.Context) error { return l.Stay(ctx, connect) })
	_, detail := l.Connected()
	fmt.Println(detail, err)
	// Output:
	// connected as Ada [hello]
	// not running <nil>
}

type office struct{}

func (office) Login(context.Context, string) (string, error) { return "Ada", nil }

func (office) Poll(ctx context.Context) ([]string, error) { return []string{"hello"}, ctx.Err() }
