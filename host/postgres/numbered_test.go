package postgres

import "testing"

func TestParametersAreNumberedOutsideQuotesAlone(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                                      "SELECT 1",
		"UPDATE a SET b = ?, c = ? WHERE d = ?":         "UPDATE a SET b = $1, c = $2 WHERE d = $3",
		"SELECT ?2, ?1, ?12":                            "SELECT $2, $1, $12",
		"SELECT '?', \"a?\", ?, 'it''s ?' -- why?\n, ?": "SELECT '?', \"a?\", $1, 'it''s ?' -- why?\n, $2",
		"SELECT ? -- ?":                                 "SELECT $1 -- ?",
		"SELECT '?":                                     "SELECT '?",
	} {
		if got := numbered(query); got != want {
			t.Errorf("%s\n became %s\n    want %s", query, got, want)
		}
	}
}
