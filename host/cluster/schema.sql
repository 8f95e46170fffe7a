-- It runs while something of it is missing. Hosts of several versions share what it makes: another form of the function
-- or of a table gets another name.

-- Which host owns the state: one row, whatever the hosts call their cluster. A change of fence waits for
-- every commit that has called longshore_fence, as fence is part of a key; a renewal does not.
CREATE TABLE IF NOT EXISTS lease (
	one     BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
	cluster TEXT NOT NULL,             -- the owner's
	owner   TEXT NOT NULL,             -- the host's name
	fence   BIGINT NOT NULL,           -- more with each owner, by a random number: a lost owner's does not come again
	expires TIMESTAMPTZ NOT NULL,
	since   TIMESTAMPTZ NOT NULL,      -- when the owner took it
	config  TEXT NOT NULL,             -- the hash of the configuration with which a host served last
	heir    TEXT NOT NULL DEFAULT '',  -- the host that is to own next; empty: none is named
	history INTEGER NOT NULL,          -- the server's timeline at the last renewal: a server that is promoted begins another one
	safe    BOOLEAN NOT NULL,          -- each commit waited for a synchronous standby then, so a promotion loses none
	UNIQUE (cluster, fence)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS cluster_host (
	cluster  TEXT NOT NULL,
	name     TEXT NOT NULL,
	instance TEXT NOT NULL,            -- random; two hosts with one name differ in it; empty: the host has left
	seen     TIMESTAMPTZ NOT NULL,
	program  TEXT NOT NULL,            -- its version
	version  BIGINT NOT NULL,          -- of the state's tables that it knows
	config   TEXT NOT NULL,
	PRIMARY KEY (cluster, name)
) WITH (fillfactor = 50);

-- Every transaction of an owner begins with this. It holds the lease's row until the end of the
-- transaction, so that no other host takes the lease between the check and the commit.
CREATE OR REPLACE FUNCTION longshore_fence(of_cluster TEXT, of_fence BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 FROM lease WHERE cluster = of_cluster AND fence = of_fence AND expires > clock_timestamp() FOR KEY SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'fence % of cluster % is over', of_fence, of_cluster USING ERRCODE = 'LS001';
	END IF;
END $$;
