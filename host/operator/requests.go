package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// refused is the state of a request in the errors folder.
const refused = "refused"

// requests lists the errors folder.
func (l *Local) requests(group string) ([]Item, error) {
	entries, err := spool.ListErrors(l.Layout.IPCDir())
	if err != nil {
		return nil, fmt.Errorf("list the errors folder: %w", err)
	}
	var items []Item
	for _, x := range entries {
		if group == "" || x.Folder == group {
			items = append(items, ofRequest(x))
		}
	}
	return items, nil
}

// request reads one entry. If the folder has no such entry, the error is
// notFound.
func (l *Local) request(id string) (Item, error) {
	x, body, err := spool.ReadError(l.Layout.IPCDir(), entryName(id))
	if err != nil {
		return Item{}, ofErrors(id, err)
	}
	item := ofRequest(x)
	item.Raw = string(body)
	return item, nil
}

func (l *Local) retryRequest(id string) error {
	_, err := spool.RetryError(l.Layout.IPCDir(), entryName(id))
	return ofErrors(id, err)
}

func (l *Local) dropRequest(id string) error {
	return ofErrors(id, spool.DropError(l.Layout.IPCDir(), entryName(id)))
}

// entryName removes the suffix from a name that was copied from a listing of
// the folder.
func entryName(id string) string { return strings.TrimSuffix(id, ".json") }

// mayBeRequest reports whether id could name a request in the errors folder. A
// delivery's key consists of hexadecimal digits; an entry normally begins with
// a group's folder and a hyphen. But others may have left files with any name
// there, so locate looks for a key in both places.
func mayBeRequest(id string) bool { return strings.Trim(id, "0123456789abcdef") != "" }

func ofRequest(x spool.Quarantined) Item {
	item := Item{
		ID: x.Name, Kind: Request, Group: x.Folder, Request: x.Request, State: refused,
		Created: x.First, Bytes: x.Size, Attempts: x.Attempts, Code: x.Code, Message: x.Message, Hint: x.Hint,
	}
	if x.Code == "" {
		item.Code, item.Message = "no_reason", "there is no reason file beside the request"
		item.Hint = "look at it with: longshore errors show " + x.Name
	}
	return item
}

// ofErrors turns the errors of the folder into refusals with a remedy.
func ofErrors(id string, err error) error {
	switch {
	case errors.Is(err, spool.ErrNoEntry):
		return notFound(id)
	case errors.Is(err, spool.ErrNoBody):
		return &refusal.Error{
			Code: CodeNoBytes, Message: "the request itself was not stored: it was too large, not a plain file, or from an unknown group",
			Hint: "see the reason with: longshore errors show " + id,
		}
	case errors.Is(err, fs.ErrNotExist):
		return notFound(id)
	}
	return err
}
