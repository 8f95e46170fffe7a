// Package changes lists the deliveries that changed, for who reports them: group by group, in
// turns, and each delivery once.
package changes

// most is how many deliveries Take hands out at once.
const most = 64

// List has the ids of deliveries that changed and were not taken since: who takes them looks up
// their newest state. The caller's lock guards it.
type List struct {
	News   chan struct{} // of capacity one: a change is ready, or End was called
	groups map[string]*group
	ready  []string // the folders with changes to take, in turns
	Ended  bool     // no more changes come
}

// group is the changes of one group.
type group struct {
	order []int64        // ids, by first change
	marks map[int64]Mark // the same ids
	busy  bool           // in ready, or taken and not released
}

// Mark says why a delivery is in the list. A change that comes to it makes it New.
type Mark uint8

// The marks.
const (
	New   Mark = iota
	Past       // an earlier process may have reported it
	Again      // only its result is left to report
)

// ID identifies a delivery in the list.
type ID struct {
	ID   int64
	Mark Mark
}

// NewList returns an empty list.
func NewList() List {
	return List{News: make(chan struct{}, 1), groups: map[string]*group{}}
}

// Add lists a delivery of a group.
func (l *List) Add(folder string, id int64, m Mark) {
	g := l.groups[folder]
	if g == nil {
		g = &group{marks: map[int64]Mark{}}
		l.groups[folder] = g
	}
	was, known := g.marks[id]
	if !known {
		g.order = append(g.order, id)
	} else if was != m {
		m = New
	}
	g.marks[id] = m
	if !g.busy {
		l.enqueue(folder, g)
	}
}

func (l *List) enqueue(folder string, g *group) {
	g.busy = true
	l.ready = append(l.ready, folder)
	l.signal()
}

// Take returns the first ids of the group whose turn it is.
func (l *List) Take() (folder string, ids []ID) {
	if len(l.ready) == 0 {
		if l.Ended {
			l.signal() // the next reader ends too
		}
		return "", nil
	}
	folder, l.ready = l.ready[0], l.ready[1:]
	if len(l.ready) > 0 {
		l.signal()
	}
	g := l.groups[folder]
	n := min(len(g.order), most)
	for _, id := range g.order[:n] {
		ids = append(ids, ID{id, g.marks[id]})
		delete(g.marks, id)
	}
	g.order = g.order[n:]
	return folder, ids
}

// Release marks a group's changes as no longer being handled.
func (l *List) Release(folder string) {
	g := l.groups[folder]
	if len(g.order) > 0 {
		l.enqueue(folder, g)
		return
	}
	delete(l.groups, folder)
}

// End says whether no more changes come: each reader hears of it once all are taken.
func (l *List) End(over bool) {
	l.Ended = over
	l.signal()
}

// signal wakes one reader, who wakes the next if there is more.
func (l *List) signal() {
	select {
	case l.News <- struct{}{}:
	default:
	}
}
