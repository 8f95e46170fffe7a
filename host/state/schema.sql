-- The state: all tables of the host, by the package that owns them. All times are Unix
-- nanoseconds unless a comment says otherwise; 0 is never. Outside this file the SQL is
-- what SQLite and PostgreSQL have in common.

---------------------------------------------------------------- host/outbox/records: deliveries

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
	changed INTEGER NOT NULL, -- 0: nothing is to be reported yet
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
CREATE TABLE delivery_order (last INTEGER NOT NULL);
INSERT INTO delivery_order VALUES (0);

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
	choices  TEXT    NOT NULL, -- JSON; [] if it was taken back
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

-- What people are asked: assistants' questions, approvals of deliveries, permissions for
-- sessions elsewhere. A row is deleted with its delivery.
CREATE TABLE ask (
	id       TEXT    PRIMARY KEY,
	policy   TEXT    NOT NULL, -- question, approval, permission
	delivery INTEGER NOT NULL, -- what waits for an approval; of the others, what shows them
	shown    INTEGER NOT NULL, -- the delivery that shows it; 0: none does
	folder   TEXT    NOT NULL, -- of the group that asks
	thread   TEXT    NOT NULL, -- its conversation
	session  TEXT    NOT NULL, -- the id by which a session knows its permission
	rule     TEXT    NOT NULL, -- because of which it is asked
	about    TEXT    NOT NULL, -- JSON of a permission
	made     INTEGER NOT NULL,
	expires  INTEGER NOT NULL,
	answer   TEXT    NOT NULL DEFAULT '', -- yes, no, none, gone, withdrawn, lost; empty: it waits
	by       TEXT    NOT NULL DEFAULT '', -- who answered
	answered INTEGER NOT NULL DEFAULT 0,
	told     INTEGER NOT NULL DEFAULT 0 -- 1: people know how it ended
) WITHOUT ROWID;
CREATE INDEX ask_open ON ask (expires) WHERE told = 0;
CREATE INDEX ask_delivery ON ask (delivery);
CREATE INDEX ask_shown ON ask (shown);
CREATE INDEX ask_session ON ask (session) WHERE session <> '';

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

-- What members wrote, and what they did to messages (events), by channel. A channel is named by
-- its platform and name, as telegram/work; by its name alone if that is the platform's.
CREATE TABLE journal_inbound (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order; never used again
	channel  TEXT    NOT NULL,
	chat     TEXT    NOT NULL, -- as the Inbox knows it
	id       TEXT    NOT NULL, -- the platform's
	sender   TEXT    NOT NULL,
	info     BLOB    NOT NULL, -- Inbound.Info
	message  BLOB    NOT NULL, -- Inbound.Body
	received INTEGER NOT NULL,
	event    INTEGER NOT NULL, -- 1: an event
	state    TEXT    NOT NULL DEFAULT 'received', -- received: the host does not have it; done
	UNIQUE (channel, chat, id, sender)
);
CREATE INDEX journal_inbound_open ON journal_inbound (channel, state, chat, seq) WHERE state <> 'done';
CREATE INDEX journal_inbound_latest ON journal_inbound (channel, event, seq);

-- Messages of ours, as the platform gets them.
CREATE TABLE journal_sent (
	channel TEXT    NOT NULL,
	id      TEXT    NOT NULL, -- the platform's
	chat    TEXT    NOT NULL,
	message BLOB    NOT NULL, -- Sent.Body
	note    TEXT    NOT NULL, -- of its receipt
	created INTEGER NOT NULL,
	acked   INTEGER NOT NULL DEFAULT 0, -- the platform's time; 0: not acknowledged
	PRIMARY KEY (channel, id)
);
CREATE INDEX journal_sent_created ON journal_sent (channel, created);

-- What a channel knows longer than its messages.
CREATE TABLE journal_fact (
	channel TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	value   TEXT    NOT NULL,
	used    INTEGER NOT NULL,
	PRIMARY KEY (channel, key)
) WITHOUT ROWID;

---------------------------------------------------------------- host/channel/web: the page

-- The history of each channel. A chat's order is that of seq. All times of the page are Unix
-- milliseconds.
CREATE TABLE page_message (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	channel   TEXT    NOT NULL,
	chat      TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	key       TEXT    NOT NULL, -- the poster's own; may be empty
	author    TEXT    NOT NULL, -- the mark of the writer's browser; may be empty
	sender    TEXT    NOT NULL, -- the name that the writer gave
	assistant INTEGER NOT NULL, -- 1: written by the assistant
	time      INTEGER NOT NULL,
	reply_to  TEXT    NOT NULL,
	quote     TEXT    NOT NULL, -- JSON of what reply_to was then; may be empty
	forwarded TEXT    NOT NULL,
	status    TEXT    NOT NULL,
	file      TEXT    NOT NULL, -- JSON; empty: none
	blob      TEXT    NOT NULL, -- of the file; stays after the message was removed
	size      INTEGER NOT NULL, -- of the file
	edited    INTEGER NOT NULL DEFAULT 0,
	removed   INTEGER NOT NULL DEFAULT 0,  -- 1: what it held is deleted
	reactions TEXT    NOT NULL DEFAULT '', -- JSON
	text      TEXT    NOT NULL,
	tree      TEXT    NOT NULL, -- JSON of how the text is shown
	short     TEXT    NOT NULL, -- the text's beginning, without formats
	poll      TEXT    NOT NULL, -- JSON of choices and votes; empty: none
	UNIQUE (channel, chat, id)
);
CREATE INDEX page_message_chat ON page_message (channel, chat, seq);
CREATE INDEX page_message_time ON page_message (channel, time, seq);
CREATE INDEX page_message_key ON page_message (channel, chat, key) WHERE key <> '';
CREATE UNIQUE INDEX page_message_blob ON page_message (blob) WHERE blob <> '';
CREATE INDEX page_message_size ON page_message (channel, chat, size) WHERE blob <> '';

-- The numbers and ids of deleted messages. The ids are never used again, a repeated Send
-- finds that it was done, and a page that has the message finds its position.
CREATE TABLE page_gone (
	seq       INTEGER PRIMARY KEY,
	channel   TEXT    NOT NULL,
	chat      TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	file      TEXT    NOT NULL, -- the blob
	time      INTEGER NOT NULL, -- of the message
	forgotten INTEGER NOT NULL,
	UNIQUE (channel, chat, id)
);
CREATE INDEX page_gone_chat ON page_gone (channel, chat, seq);
CREATE INDEX page_gone_key ON page_gone (channel, chat, key) WHERE key <> '';
CREATE INDEX page_gone_file ON page_gone (file) WHERE file <> '';
CREATE INDEX page_gone_old ON page_gone (channel, forgotten);

-- Members' posts that the host does not have yet, by the first message of each.
CREATE TABLE page_waiting (
	seq     INTEGER PRIMARY KEY,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	own     INTEGER NOT NULL -- 1: it answers the assistant
);
CREATE INDEX page_waiting_chat ON page_waiting (channel, chat, seq);

-- Members' acts that the host does not have yet. A member's later act replaces the earlier
-- one of the same kind on the same message.
CREATE TABLE page_act (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	behind  INTEGER NOT NULL, -- the chat's newest message then
	id      TEXT    NOT NULL,
	kind    TEXT    NOT NULL,
	target  TEXT    NOT NULL,
	who     TEXT    NOT NULL,
	body    TEXT    NOT NULL, -- JSON of the act
	time    INTEGER NOT NULL
);
CREATE INDEX page_act_chat ON page_act (channel, chat, n);

-- One row for each message that changed, with a number that grows, so that a page which was
-- away gets what changed meanwhile.
CREATE TABLE page_change (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	message INTEGER NOT NULL UNIQUE -- seq
);
CREATE INDEX page_change_chat ON page_change (channel, chat, n);

-- The browsers that showed the token. Neither cookie nor key can be derived from it.
CREATE TABLE page_session (
	id      BLOB    PRIMARY KEY, -- SHA-256 of the cookie's value
	channel TEXT    NOT NULL,
	key     BLOB    NOT NULL, -- SHA-256 of the key that the page keeps
	token   BLOB    NOT NULL, -- a mark of the token that opened it
	made    INTEGER NOT NULL,
	used    INTEGER NOT NULL
);

-- The key by which push services know a page, PKCS 8, and the browsers that want to be
-- notified while no page is open.
CREATE TABLE page_push_key (
	channel TEXT PRIMARY KEY,
	key     BLOB NOT NULL
);
CREATE TABLE page_push (
	channel  TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	session  BLOB, -- NULL: the page needs no token
	p256dh   BLOB    NOT NULL,
	auth     BLOB    NOT NULL,
	made     INTEGER NOT NULL,
	PRIMARY KEY (channel, endpoint)
);
CREATE INDEX page_push_session ON page_push (session);

---------------------------------------------------------------- host/inbound: members' messages and their files

-- One row for each message, notice, task or order that is for a group's assistant: it waits
-- (turn is empty), is in a turn, or is done. What is done keeps its key alone, by which a
-- message that comes again is known.
CREATE TABLE inbound_message (
	id     INTEGER PRIMARY KEY, -- the order
	folder TEXT    NOT NULL,
	key    TEXT    NOT NULL,
	thread TEXT    NOT NULL, -- of the chat; empty: the chat itself
	kept   INTEGER NOT NULL,
	turn   TEXT    NOT NULL DEFAULT '', -- id of the turn that it is in
	input  TEXT    NOT NULL DEFAULT '', -- name of the follow-up that hands it over; empty: the prompt does
	done   INTEGER NOT NULL DEFAULT 0,  -- counts what is done in the folder; 0: not done
	body   TEXT    NOT NULL, -- JSON of the rest; empty once it is done
	UNIQUE (folder, key)
);
CREATE INDEX inbound_message_open ON inbound_message (id) WHERE done = 0;
CREATE INDEX inbound_message_done ON inbound_message (folder, done);
CREATE INDEX inbound_message_turn ON inbound_message (turn) WHERE turn <> '';

-- Members' files that are to be fetched from their channels, or to be transcribed.
CREATE TABLE inbound_file (
	folder   TEXT    NOT NULL,
	message  TEXT    NOT NULL, -- its key
	position INTEGER NOT NULL, -- among the message's files
	body     TEXT    NOT NULL, -- JSON
	PRIMARY KEY (folder, message, position)
) WITHOUT ROWID;

-- Messages that assistants may read again, and what members did to them.
CREATE TABLE inbound_past (
	folder TEXT    NOT NULL,
	id     TEXT    NOT NULL, -- the platform's
	change TEXT    NOT NULL, -- edit or deletion; empty: the message
	sender TEXT    NOT NULL, -- of an edit; empty for the others
	seq    INTEGER NOT NULL, -- the order in the folder
	body   TEXT    NOT NULL, -- JSON
	PRIMARY KEY (folder, id, change, sender)
) WITHOUT ROWID;
CREATE INDEX inbound_past_seq ON inbound_past (folder, seq);

-- Under which names members' files were put into the inbox of the workspace.
CREATE TABLE inbound_fetched (
	folder TEXT    NOT NULL,
	ref    TEXT    NOT NULL, -- the channel's
	name   TEXT    NOT NULL,
	seq    INTEGER NOT NULL,
	PRIMARY KEY (folder, ref)
) WITHOUT ROWID;
CREATE INDEX inbound_fetched_seq ON inbound_fetched (folder, seq);

-- Members who were told of a right that they lack.
CREATE TABLE inbound_refusal (
	folder TEXT    NOT NULL,
	what   TEXT    NOT NULL, -- the right and the member
	seq    INTEGER NOT NULL,
	PRIMARY KEY (folder, what)
) WITHOUT ROWID;

-- The secret behind the ids by which assistants know members; one row.
CREATE TABLE inbound_secret (id INTEGER PRIMARY KEY, secret BLOB NOT NULL);

---------------------------------------------------------------- host/turns: turns, threads and sessions

-- Turns that are under way.
CREATE TABLE turn (
	id      TEXT    PRIMARY KEY,
	folder  TEXT    NOT NULL,
	thread  TEXT    NOT NULL,
	place   INTEGER NOT NULL, -- of its assistant among those of the group
	started INTEGER NOT NULL, -- what was sent since then is the turn's
	attempt INTEGER NOT NULL, -- 0 is the first
	remarks TEXT    NOT NULL  -- keys of the host's own messages during the turn, with spaces between
) WITHOUT ROWID;

-- The agent's sessions in the threads of chats; an empty thread is the chat itself.
CREATE TABLE turn_thread (
	folder    TEXT    NOT NULL,
	thread    TEXT    NOT NULL,
	session   TEXT    NOT NULL, -- the agent's id; empty: none
	forgotten INTEGER NOT NULL, -- 1: the session was dropped to make room
	used      INTEGER NOT NULL, -- the order of their last use
	PRIMARY KEY (folder, thread)
) WITHOUT ROWID;

-- Runs of assistants in chats with threads: which request is of which thread.
CREATE TABLE turn_run (
	folder TEXT    NOT NULL,
	stamp  TEXT    NOT NULL, -- in the run's requests: the id of its first turn
	thread TEXT    NOT NULL,
	seq    INTEGER NOT NULL, -- the order in the folder
	began  INTEGER NOT NULL,
	ended  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (folder, stamp)
) WITHOUT ROWID;

---------------------------------------------------------------- host/links: addresses of links

-- The key of the addresses of links, made with the first one. One row.
CREATE TABLE link_key (
	id  INTEGER PRIMARY KEY CHECK (id = 1),
	key BLOB    NOT NULL -- 32 random bytes
);

---------------------------------------------------------------- host/notify: what operators were told

-- The faults that operators were told of.
CREATE TABLE notified (
	target TEXT    NOT NULL,
	fault  TEXT    NOT NULL,
	about  BLOB    NOT NULL, -- JSON of the operator.Fault
	since  INTEGER NOT NULL,
	sent   INTEGER NOT NULL, -- 1: the target has taken it; 0: it is being told
	PRIMARY KEY (target, fault)
) WITHOUT ROWID;

---------------------------------------------------------------- host/audit: what left and what was refused

-- The audit trail, if several hosts share the state; else it is files.
CREATE TABLE audit_entry (
	n        INTEGER PRIMARY KEY, -- the entry's number
	time     INTEGER NOT NULL,
	event    TEXT    NOT NULL, -- as in the line
	delivery TEXT    NOT NULL, -- the same
	line     TEXT    NOT NULL  -- as in a file, without its end
);

-- The key of the hashes that stand in the trail for members' numbers. One row.
CREATE TABLE audit_key (
	id  INTEGER PRIMARY KEY CHECK (id = 1),
	key BLOB    NOT NULL -- 32 random bytes
);

---------------------------------------------------------------- host/serve: groups and people

-- Codes of people who wrote in a direct chat that no group has.
CREATE TABLE pairing_code (
	code    TEXT    PRIMARY KEY,
	channel TEXT    NOT NULL,
	chat    TEXT    NOT NULL,
	sender  TEXT    NOT NULL, -- the name that the platform shows
	until   INTEGER NOT NULL,
	UNIQUE (channel, chat)
) WITHOUT ROWID;

-- Groups that register_group made.
CREATE TABLE registered_group (
	folder TEXT    PRIMARY KEY,
	chat   TEXT    NOT NULL UNIQUE,
	name   TEXT    NOT NULL,
	word   TEXT    NOT NULL, -- the trigger; empty: every message calls the assistant
	maker  TEXT    NOT NULL, -- the folder of the group whose restrictions hold; empty: none do
	made   INTEGER NOT NULL
) WITHOUT ROWID;

-- The groups that the host has served: a file that lacks most of them is not their end.
CREATE TABLE served_group (
	folder TEXT PRIMARY KEY
) WITHOUT ROWID;

---------------------------------------------------------------- host/engines: where groups run

-- The container engine that has a group's volume, by its name in longshore.yaml.
CREATE TABLE placement (
	folder TEXT PRIMARY KEY,
	engine TEXT NOT NULL,
	former TEXT NOT NULL -- the engine before, which may have an older volume; empty: none
) WITHOUT ROWID;

-- Whose the containers and volumes on the engines are; one row.
CREATE TABLE engine_owner (
	name      TEXT PRIMARY KEY,
	directory TEXT NOT NULL -- the state directory of the host that began with it
) WITHOUT ROWID;
