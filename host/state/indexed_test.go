package state

import (
	"cmp"
	"database/sql"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/store"
)

// bounds are the longest texts in indexes, in bytes, as the code that writes them has it: by table and column, or by column.
var bounds = map[string]int{
	"folder": 64, "channel": 128, "chat": groups.MaxJID, "thread": 256, // ids.plain of push; platforms' own are shorter
	"id": 256, "sender": 256, "ref": 256, "what": 256, "inbound_past.id": 256, // channel.Key
	"key": 256, "journal_fact.key": 1280, // with the shown name of a file: ipc.maxName
	"request": 200, "run": 200, "task": 200, "stamp": 200, "turn": 200, "message": 200, "session": 200, // ipc.maxID, or ours
	"part.blob": 32 * 34, "blob": 34, "file": 34, "name": 200, // ours: ipc.MaxFiles of a part
	"part.receipt": 256, "voter": 256, "page_push.endpoint": 1024,
	"change": 16, "state": 16, "code": 16, "target": 256, "fault": 512,
}

// An index of PostgreSQL takes 2,704 bytes a row, and SQLite any: a text from outside without a bound fails commits there.
func TestAnIndexHadATextWithoutABound(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(Spec("", store.Home{}).Schema); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT m.name, i.name, c.name FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) n, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.cid = n.cid AND c.type = 'TEXT'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sums := map[string]int{}
	for rows.Next() {
		var table, index, column string
		if err := rows.Scan(&table, &index, &column); err != nil {
			t.Fatal(err)
		}
		most := cmp.Or(bounds[table+"."+column], bounds[column])
		if most == 0 {
			t.Errorf("say how long %s.%s may be, and bound it where it is written", table, column)
		}
		if sums[index] += most; sums[index] > 2600 {
			t.Errorf("the index %s of %s has up to %d bytes", index, table, sums[index])
		}
	}
	if err := rows.Err(); err != nil || len(sums) < 40 {
		t.Errorf("%d indexes, %v", len(sums), err)
	}
}
