package stage

// The chats of a dock: the group's, and the depot.
const (
	DockChat  = -1001
	DockDepot = -1002
)
