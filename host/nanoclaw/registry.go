package nanoclaw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	registryFile = "data/registered_groups.json"
	maxRegistry  = 1 << 20 // bytes of the registry's or the allowlist's file
)

// decodeRegistry reads {jid: {name, folder, trigger, …}} in the order of the
// file. A chat that is listed twice becomes two rows; a map would hide one.
func decodeRegistry(b []byte) ([]Row, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var rows []Row
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v struct {
			Name, Folder, Trigger string
			ContainerConfig       json.RawMessage
			RequiresTrigger       *bool
			IsMain                *bool
		}
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("group %.40q: %w", key, err)
		}
		if len(rows) == maxRows {
			return nil, fmt.Errorf("there are more than %d groups", maxRows)
		}
		row := Row{Chat: key.(string), Name: v.Name, Folder: v.Folder, Trigger: v.Trigger, Config: string(v.ContainerConfig)}
		row.NeedsTrigger = v.RequiresTrigger == nil || *v.RequiresTrigger
		row.Main = v.Folder == "main"
		if v.IsMain != nil {
			row.Main = *v.IsMain
		}
		rows = append(rows, row)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the JSON object")
	}
	return rows, nil
}
