/** Each brings the tables of the version before to the next one. Ids are ordered by code points, as everywhere. */
export const migrations: readonly string[] = [
  `CREATE TABLE rows (
     tbl text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     version bigint NOT NULL,
     created_at double precision NOT NULL,
     updated_at double precision NOT NULL,
     -- JSON as text: jsonb does not take every character that a JSON text may have.
     keys text NOT NULL,
     data text NOT NULL,
     PRIMARY KEY (tbl, id)
   );
   CREATE INDEX rows_created ON rows (tbl, created_at, id);
   CREATE INDEX rows_updated ON rows (tbl, updated_at, id);
   -- The times are here again, so that a list by a key is read in order and not sorted.
   CREATE TABLE row_keys (
     tbl text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL,
     value text COLLATE "C" NOT NULL,
     created_at double precision NOT NULL,
     updated_at double precision NOT NULL,
     PRIMARY KEY (tbl, id, key)
   );
   CREATE INDEX keys_created ON row_keys (tbl, key, value, created_at, id);
   CREATE INDEX keys_updated ON row_keys (tbl, key, value, updated_at, id);
   CREATE UNIQUE INDEX names ON row_keys (tbl, value) WHERE key = 'name';`,
];
