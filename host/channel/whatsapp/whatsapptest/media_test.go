package whatsapptest_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// upload sends 300 KB from a client of its own and returns the error.
func upload(ctx context.Context, m *whatsapptest.Member) error {
	_, err := m.Client.UploadReader(ctx, bytes.NewReader(noise(300_000)), nil, whatsmeow.MediaDocument)
	return err
}

func TestUploadsThatAreRefused(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	var header http.Header
	spy := *srv.HTTPClient()
	spy.Transport = spyOn{srv.HTTPClient().Transport, &header}
	m.Client.SetMediaHTTPClient(&spy)
	for _, code := range []int{401, 413, 429, 500, 507} {
		srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Refuse, Kind: "document", Code: code, RetryAfter: 7 * time.Second})
		if err := upload(soon(t), m); err == nil || !strings.Contains(err.Error(), http.StatusText(code)) && !strings.Contains(err.Error(), "status code") {
			t.Errorf("%d: %v", code, err)
		}
		uploads := srv.Uploads()
		if got := uploads[len(uploads)-1]; got.Status != code || header.Get("Retry-After") != "7" {
			t.Errorf("answered %d, retry after %q", got.Status, header.Get("Retry-After"))
		}
	}
	if err := upload(soon(t), m); err != nil {
		t.Error(err)
	}
}

type spyOn struct {
	http.RoundTripper
	header *http.Header
}

func (s spyOn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		*s.header = resp.Header
	}
	return resp, err
}

func TestOldMediaTokensAreRefused(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	if err := upload(soon(t), m); err != nil {
		t.Fatal(err)
	}
	srv.ExpireAuth()
	if err := upload(soon(t), m); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("old token: %v", err)
	}
	must(m.Client.DangerousInternals().RefreshMediaConn(soon(t), true))(t)
	if err := upload(soon(t), m); err != nil {
		t.Errorf("new token: %v", err)
	}
}

func TestUploadsThatAreCutOrHeld(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Cut, Bytes: 100_000})
	if err := upload(soon(t), m); err == nil {
		t.Error("upload went through though cut")
	}
	if got := srv.Uploads()[0]; got.Size != 100_000 || got.Status != 0 {
		t.Errorf("cut upload is %+v", got)
	}
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.CutAfter})
	if err := upload(soon(t), m); err == nil {
		t.Error("upload was answered")
	}
	if got := srv.Uploads()[1]; got.Status != http.StatusOK {
		t.Errorf("upload without an answer is %+v", got)
	}
	held := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Hold, Bytes: 1000})
	done := make(chan error, 1)
	go func() { done <- upload(soon(t), m) }()
	<-held.Hit()
	since := m.Mark()
	m.Phone.Cut() // a socket loss in the middle of an upload does not end it
	must(whatsapptest.Await[*events.Connected](soon(t), m, since, nil))(t)
	held.Release()
	if err := <-done; err != nil {
		t.Errorf("held upload: %v", err)
	}
}

func TestSlowUploadTakesItsTimeAndCanBeGivenUp(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Slow, Rate: 1_000_000})
	start := time.Now()
	if err := upload(soon(t), m); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 250*time.Millisecond {
		t.Errorf("300 KB at 1 MB/s took %s", took)
	}
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Slow, Rate: 100})
	ctx, cancel := context.WithTimeout(soon(t), 200*time.Millisecond)
	defer cancel()
	if err := upload(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
}

func TestDownloadsThatFail(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	must(a.SendFile(soon(t), group, document(noise(1000))))(t)
	e := next(t, b)
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnDownload, Do: whatsapptest.Refuse, Code: 404})
	if _, err := b.Fetch(soon(t), e.Message); !errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith404) {
		t.Errorf("missing: %v", err)
	}
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnDownload, Do: whatsapptest.Corrupt})
	if _, err := b.Fetch(soon(t), e.Message); err == nil {
		t.Error("corrupt file was taken")
	}
	if got := must(b.Download(soon(t), e.Message))(t); !bytes.Equal(got, noise(1000)) {
		t.Error("the bytes are not the bytes")
	}
}

func TestExpiredMediaIsAskedForAgain(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	must(a.SendFile(soon(t), group, document(noise(1000))))(t)
	e := next(t, b)
	srv.ExpireMedia()
	if _, err := b.Fetch(soon(t), e.Message); !errors.Is(err, whatsmeow.ErrMediaDownloadFailedWith410) {
		t.Fatalf("expired: %v", err)
	}
	doc := e.Message.GetDocumentMessage()
	if err := b.Client.SendMediaRetryReceipt(soon(t), &e.Info, doc.GetMediaKey()); err != nil {
		t.Fatal(err)
	}
	retry := must(whatsapptest.Await[*events.MediaRetry](soon(t), b, 0, nil))(t)
	answer := must(whatsmeow.DecryptMediaRetryNotification(retry, doc.GetMediaKey()))(t)
	doc.URL, doc.DirectPath = nil, answer.DirectPath
	if got := must(b.Fetch(soon(t), e.Message))(t); got.SHA256 != sum(noise(1000)) {
		t.Errorf("fetched %+v", got)
	}
	// A message that no phone knows is not available.
	info := e.Info
	info.ID = "3EB0UNKNOWN"
	since := b.Mark()
	if err := b.Client.SendMediaRetryReceipt(soon(t), &info, doc.GetMediaKey()); err != nil {
		t.Fatal(err)
	}
	retry = must(whatsapptest.Await[*events.MediaRetry](soon(t), b, since, nil))(t)
	if _, err := whatsmeow.DecryptMediaRetryNotification(retry, doc.GetMediaKey()); !errors.Is(err, whatsmeow.ErrMediaNotAvailableOnPhone) {
		t.Errorf("unknown message: %v", err)
	}
}
