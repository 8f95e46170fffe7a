package cache

import "testing"

func TestAMapThatIsFullForgetsOneValueForANewOne(t *testing.T) {
	var m Map[int, int]
	for i := range Most {
		m.Set(i, i)
	}
	m.Set(0, 7) // takes no room
	if n := len(m.All()); n != Most {
		t.Fatalf("%d values", n)
	}
	m.Set(Most, Most)
	all := m.All()
	if v, ok := m.Get(Most); len(all) != Most || !ok || v != Most {
		t.Errorf("of %d values, the new one is %d, %v", len(all), v, ok)
	}
}

func TestAZeroMapRemembersAndForgets(t *testing.T) {
	var m Map[string, int]
	if _, ok := m.Get("a"); ok || len(m.All()) != 0 {
		t.Error("an empty map has values")
	}
	m.Delete("a")
	m.Set("a", 1)
	if old, ok := m.Change("a", func(old int, _ bool) int { return old + 1 }); old != 1 || !ok {
		t.Errorf("before were %d, %v", old, ok)
	}
	if v, _ := m.Get("a"); v != 2 {
		t.Errorf("a is %d", v)
	}
	m.Clear()
	if _, ok := m.Get("a"); ok {
		t.Error("a value was not forgotten")
	}
}
