-- The state: all tables of the host, by the package that owns them. All times are Unix
-- nanoseconds unless a comment says otherwise; 0 is never. Outside this file the SQL is
-- what SQLite and PostgreSQL have in common.

---------------------------------------------------------------- host/outbox: deliveries

-- One row for each delivery that was accepted. While messages flow, deliveries
-- are found by an index that holds the open ones only, so that the length of
-- the past costs nothing.
CREATE TABLE delivery (
	id      INTEGER PRIMARY KEY,
	key     TEXT    NOT NULL UNIQUE,
	turn    INTEGER NOT NULL, -- the order within a chat; a retry gets a new one
	folder  TEXT    NOT NULL,
	request TEXT    NOT NULL,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	created INTEGER NOT NULL, -- all times are Unix nanoseconds
	held    INTEGER NOT NULL, -- how long the channel had been held in all, when this was accepted
	changed INTEGER NOT NULL,
	open    INTEGER NOT NULL, -- parts that are queued, sending or pending
	bad     INTEGER NOT NULL DEFAULT 0, -- parts that failed or are uncertain
	thread  TEXT    NOT NULL DEFAULT '', -- of the chat; empty: the chat itself
	asked   INTEGER NOT NULL DEFAULT 0, -- when the request was written
	batch   INTEGER NOT NULL DEFAULT 0, -- 1: the request wants its result in a batch
	bound   TEXT    NOT NULL DEFAULT '' -- the one conversation that asked for it; empty: the whole group
);
CREATE INDEX delivery_open ON delivery (channel, chat, turn, created, folder) WHERE open > 0;
CREATE INDEX delivery_settled ON delivery (changed) WHERE open = 0;
CREATE INDEX delivery_bad ON delivery (id) WHERE bad > 0;
CREATE INDEX delivery_folder ON delivery (folder);
CREATE INDEX delivery_request ON delivery (request);

CREATE TABLE part (
	delivery     INTEGER NOT NULL,
	position     INTEGER NOT NULL,
	message_id   TEXT    NOT NULL,
	text         TEXT    NOT NULL,
	reply_to     TEXT    NOT NULL,
	file         TEXT    NOT NULL, -- JSON of each file's media.Info and hash; empty for a text
	size         INTEGER NOT NULL, -- of all files
	blob         TEXT    NOT NULL, -- of each file, with spaces between; empty once the bytes are gone
	state        TEXT    NOT NULL,
	doubt        INTEGER NOT NULL DEFAULT 0, -- since when the platform may have it; 0: it does not
	attempts     INTEGER NOT NULL DEFAULT 0,
	next         INTEGER NOT NULL DEFAULT 0,
	receipt      TEXT    NOT NULL DEFAULT '',
	receipt_time INTEGER NOT NULL DEFAULT 0,
	receipt_note TEXT    NOT NULL DEFAULT '',
	code         TEXT    NOT NULL DEFAULT '',
	message      TEXT    NOT NULL DEFAULT '',
	hint         TEXT    NOT NULL DEFAULT '',
	shown        TEXT    NOT NULL DEFAULT '', -- the state that was reported of a pending part
	act          TEXT    NOT NULL DEFAULT '', -- JSON of a change or a question; empty for a message
	saved        BLOB, -- what the channel keeps for the next attempt
	delivered_at INTEGER NOT NULL DEFAULT 0, -- when the host heard that a member's device had it
	read_at      INTEGER NOT NULL DEFAULT 0, -- and that a member had read it
	written      TEXT    NOT NULL DEFAULT '', -- the Markdown that text is made of; empty: text itself
	unthreaded   INTEGER NOT NULL DEFAULT 0, -- 1: it goes to the chat itself
	PRIMARY KEY (delivery, position)
) WITHOUT ROWID;
CREATE INDEX part_receipt ON part (receipt) WHERE receipt <> '';
CREATE INDEX part_blob ON part (blob) WHERE blob <> '';

-- The last turn that a delivery was given.
CREATE TABLE turn (last INTEGER NOT NULL);
INSERT INTO turn VALUES (0);

CREATE TABLE hold (
	channel TEXT PRIMARY KEY,
	total   INTEGER NOT NULL, -- nanoseconds of all holds that have ended
	since   INTEGER NOT NULL  -- of the one that lasts; 0: none
) WITHOUT ROWID;

-- What members answered to the question of a delivery.
CREATE TABLE vote (
	delivery INTEGER NOT NULL,
	voter    TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	choices  TEXT    NOT NULL, -- JSON
	time     INTEGER NOT NULL,
	PRIMARY KEY (delivery, voter)
) WITHOUT ROWID;
CREATE INDEX part_act ON part (delivery) WHERE act <> '';

-- Files that members fetch by an address. A row outlives its delivery.
CREATE TABLE link (
	id      TEXT    PRIMARY KEY,
	key     TEXT    NOT NULL, -- of its delivery
	folder  TEXT    NOT NULL,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	file    TEXT    NOT NULL, -- JSON of the file's media.Info and hash
	size    INTEGER NOT NULL,
	blob    TEXT    NOT NULL,
	made    INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	ended   INTEGER NOT NULL DEFAULT 0 -- 1: its file is being deleted
) WITHOUT ROWID;

-- Deliveries that wait for somebody's yes.
CREATE TABLE approval (
	id       TEXT    PRIMARY KEY,
	delivery INTEGER NOT NULL,
	rule     TEXT    NOT NULL,
	made     INTEGER NOT NULL,
	expires  INTEGER NOT NULL,
	answer   TEXT    NOT NULL DEFAULT '', -- yes, no, none, lost; empty: it waits
	by       TEXT    NOT NULL DEFAULT '', -- who answered
	answered INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX approval_waits ON approval (expires) WHERE answer = '';
CREATE INDEX approval_delivery ON approval (delivery);

---------------------------------------------------------------- host/keys: what calls of models used

-- What the calls of a group that are settled have used in a quarter of an hour. The slot is
-- its beginning, in quarters of an hour since 1970.
CREATE TABLE spent (
	folder TEXT    NOT NULL,
	slot   INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	nanos  INTEGER NOT NULL, -- billionths of a dollar
	calls  INTEGER NOT NULL,
	PRIMARY KEY (folder, slot)
) WITHOUT ROWID;

-- The most that calls under way may use.
CREATE TABLE held (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	folder TEXT    NOT NULL,
	slot   INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	nanos  INTEGER NOT NULL
);
CREATE INDEX held_folder ON held (folder);

---------------------------------------------------------------- host/tasks: tasks

---------------------------------------------------------------- host/remote: tokens and calls of assistants elsewhere

---------------------------------------------------------------- host/channel/journal: what platforms brought and got

---------------------------------------------------------------- host/channel/web: the page

---------------------------------------------------------------- host/assistant: members' messages and turns

---------------------------------------------------------------- host/serve: the rest

