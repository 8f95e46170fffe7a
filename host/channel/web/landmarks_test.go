package web_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"slices"
	"testing"
)

// element is an open element of a page.
type element struct {
	name string
	attr map[string]string
}

func (e element) is(names ...string) bool { return slices.Contains(names, e.name) }

// elements calls visit for each element of a page, with those around it, the nearest
// last.
func elements(t *testing.T, page []byte, visit func(e element, around []element)) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []element
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{token.Name.Local, map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			visit(e, open)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// A list with another role made each message an orphaned list item, and the composer
// stood in no landmark.
func TestEachMessageWasAnOrphanedListItem(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for _, path := range []string{"/", "/c/family", "/c/nowhere"} {
		_, page := s.do("GET", path, nil)
		logs, messages, composers := 0, 0, 0
		elements(t, page, func(e element, around []element) {
			if e.is("ol", "ul") && e.attr["role"] != "" {
				t.Errorf("%s: the list %s has the role %s", path, e.attr["id"], e.attr["role"])
			}
			if e.is("li") && !around[len(around)-1].is("ol", "ul") {
				t.Errorf("%s: a list item stands in %s", path, around[len(around)-1].name)
			}
			if e.attr["role"] == "log" {
				logs++
			}
			if e.attr["id"] == "messages" && around[len(around)-1].attr["role"] == "log" {
				messages++
			}
			if e.attr["id"] == "composer" {
				composers++
			}
			landmark := slices.ContainsFunc(append(around, e), func(e element) bool { return e.is("main", "header", "aside", "nav", "dialog", "noscript") })
			if slices.ContainsFunc(around, func(e element) bool { return e.is("body") }) && !landmark && e.is("form", "button", "a", "p", "h1", "ol", "ul") {
				t.Errorf("%s: %s %s stands in no landmark", path, e.name, e.attr["id"])
			}
		})
		if want := map[string]int{"/c/family": 1}[path]; logs != want || messages != want || composers != want {
			t.Errorf("%s: %d logs, %d of them with the messages, and %d composers", path, logs, messages, composers)
		}
	}
}
