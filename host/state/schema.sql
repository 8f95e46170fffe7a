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

---------------------------------------------------------------- host/tasks: tasks

CREATE TABLE task (
	id      TEXT    PRIMARY KEY,
	folder  TEXT    NOT NULL, -- in whose chat it runs
	owner   TEXT    NOT NULL, -- the group that scheduled it
	thread  TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	prompt  TEXT    NOT NULL,
	type    TEXT    NOT NULL,
	value   TEXT    NOT NULL,
	mode    TEXT    NOT NULL,
	status  TEXT    NOT NULL,
	zone    TEXT    NOT NULL,
	next    INTEGER NOT NULL,
	created INTEGER NOT NULL,
	run     TEXT    NOT NULL, -- the one under way; empty: none
	due     INTEGER NOT NULL, -- when that was due
	last    INTEGER NOT NULL, -- when the last run began
	handed  INTEGER NOT NULL, -- 1: the assistant has the run
	skipped INTEGER NOT NULL, -- due times at which the run before had not ended
	missed  INTEGER NOT NULL, -- those before the run under way
	bound   TEXT    NOT NULL  -- the one conversation that scheduled it; empty: the whole group
) WITHOUT ROWID;
CREATE INDEX task_due ON task (next) WHERE status = 'active' AND next > 0;
CREATE INDEX task_under_way ON task (run) WHERE run <> '';
CREATE INDEX task_folder ON task (folder);

-- Runs that were claimed: a due time has one.
CREATE TABLE task_run (
	id    TEXT    PRIMARY KEY, -- a hash over the task and its due time
	task  TEXT    NOT NULL,
	due   INTEGER NOT NULL,
	begun INTEGER NOT NULL,
	ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX task_run_task ON task_run (task, begun);

-- What calls about tasks were answered, each by its key.
CREATE TABLE task_answer (
	key    TEXT    PRIMARY KEY,
	answer BLOB    NOT NULL,
	at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_answer_at ON task_answer (at);

---------------------------------------------------------------- host/remote: tokens and calls of assistants elsewhere

CREATE TABLE remote_token (
	id     TEXT    PRIMARY KEY,
	hash   BLOB    NOT NULL, -- of the secret
	folder TEXT    NOT NULL,
	thread TEXT    NOT NULL, -- empty: the chat itself
	peer   TEXT    NOT NULL, -- the only address that may use it; empty: any
	made   INTEGER NOT NULL,
	ended  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The calls, each with the delivery that it made.
CREATE TABLE remote_call (
	id        TEXT    PRIMARY KEY,
	folder    TEXT    NOT NULL,
	thread    TEXT    NOT NULL,
	key       TEXT    NOT NULL, -- by which a repeated call is known; empty: none
	content   BLOB    NOT NULL, -- a hash of all that the call says
	made      INTEGER NOT NULL,
	cancelled INTEGER NOT NULL DEFAULT 0 -- 1: it will never be sent
) WITHOUT ROWID;
CREATE UNIQUE INDEX remote_call_key ON remote_call (folder, thread, key) WHERE key <> '';
CREATE INDEX remote_call_made ON remote_call (made);

-- How many rows of remote_call each group has.
CREATE TABLE remote_count (
	folder TEXT    PRIMARY KEY,
	calls  INTEGER NOT NULL
) WITHOUT ROWID;

-- Files that come in pieces. The bytes that have come are the file remote/uploads/<name>.part.
CREATE TABLE remote_upload (
	name    TEXT    PRIMARY KEY, -- a hash over its conversation and id
	folder  TEXT    NOT NULL,
	length  INTEGER NOT NULL, -- as announced, in bytes
	sha256  TEXT    NOT NULL, -- as announced, in hex
	whole   INTEGER NOT NULL DEFAULT 0, -- 1: all bytes have come, and are what was announced
	sent    INTEGER NOT NULL DEFAULT 0, -- 1: a delivery has the bytes; they are deleted here
	changed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX remote_upload_unsent ON remote_upload (folder) WHERE sent = 0;

---------------------------------------------------------------- host/channel/journal: what platforms brought and got

---------------------------------------------------------------- host/channel/web: the page

---------------------------------------------------------------- host/assistant: members' messages and turns

---------------------------------------------------------------- host/serve: the rest

-- host/links: the key of the addresses of links, made with the first one. One row.
CREATE TABLE link_key (
	id  INTEGER PRIMARY KEY CHECK (id = 1),
	key BLOB    NOT NULL -- 32 random bytes
);

-- host/notify: the faults that operators were told of.
CREATE TABLE notified (
	target TEXT    NOT NULL,
	fault  TEXT    NOT NULL,
	about  BLOB    NOT NULL, -- JSON of the operator.Fault
	since  INTEGER NOT NULL,
	sent   INTEGER NOT NULL, -- 1: the target has taken it; 0: it is being told
	PRIMARY KEY (target, fault)
) WITHOUT ROWID;

-- Codes of people who wrote in a direct chat that no group has.
CREATE TABLE pairing_code (
	code    TEXT    PRIMARY KEY,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	sender  TEXT    NOT NULL, -- the name that the platform shows
	until   INTEGER NOT NULL,
	UNIQUE (channel, chat)
) WITHOUT ROWID;

-- The groups that the host has served: a file that lacks most of them is not their end.
CREATE TABLE served_group (
	folder TEXT PRIMARY KEY
) WITHOUT ROWID;

