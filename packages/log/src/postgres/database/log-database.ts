import { Database, type DatabaseOptions } from './database.ts';
import { addIncarnations, checkLineage } from './lineage.ts';
import { type Statements, statementsIn } from './statements.ts';

/** The Postgres database of a log, with its tables and its SQL statements. */
export class LogDatabase extends Database {
  #statements: { readonly schema: string; readonly all: Statements } | undefined;

  constructor(options: Omit<DatabaseOptions, 'migrations' | 'onReady'>) {
    super({
      ...options,
      migrations,
      onReady: ({ schema }, client) => checkLineage(client, schema),
    });
  }

  /** The version of the tables that this program uses. */
  get version(): number {
    return migrations.length;
  }

  /** The statements for the schema of the tables. They are valid only after `ready`. */
  get statements(): Statements {
    const { schema } = this.target;
    if (this.#statements?.schema !== schema)
      this.#statements = { schema, all: statementsIn(schema) };
    return this.#statements.all;
  }
}

/** SQL scripts. Each script migrates the schema to the next version. */
const migrations: readonly string[] = [
  `CREATE TABLE sessions (
     -- By code points, as every other store has them.
     id text COLLATE "C" PRIMARY KEY,
     -- Which one of those that ever had this name: what belongs to it has this number.
     made bigint NOT NULL UNIQUE,
     rewrites bigint NOT NULL,
     through bigint NOT NULL,
     created_at double precision NOT NULL,
     changed_at double precision NOT NULL,
     is_closed boolean NOT NULL,
     epoch bigint NOT NULL,
     -- JSON as text: jsonb does not take every character that a holder may have in its name.
     lease text,
     open_work text NOT NULL,
     queued_commands bigint NOT NULL,
     origin text
   ) WITH (fillfactor = 70);
   CREATE INDEX sessions_with_work ON sessions (id)
     WHERE NOT is_closed AND (open_work <> '[]' OR queued_commands > 0);
   CREATE TABLE chunks (
     made bigint NOT NULL,
     last bigint NOT NULL,
     first bigint NOT NULL,
     body text NOT NULL,
     PRIMARY KEY (made, last)
   );
   -- Names and keys as JSON texts: they may have characters that Postgres has none for.
   CREATE TABLE producers (
     made bigint NOT NULL,
     producer text COLLATE "C" NOT NULL,
     state text NOT NULL,
     PRIMARY KEY (made, producer)
   );
   CREATE TABLE commands (
     made bigint NOT NULL,
     key text COLLATE "C" NOT NULL,
     at_offset bigint NOT NULL,
     is_consumed boolean NOT NULL,
     PRIMARY KEY (made, key)
   );
   CREATE TABLE blobs (hash text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
   ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
   -- Stored so often and not named since: who stored it is about to name it.
   CREATE TABLE blob_holds (
     hash text COLLATE "C" PRIMARY KEY,
     count bigint NOT NULL,
     put_at double precision NOT NULL
   );
   -- How many records of a session name it.
   CREATE TABLE blob_uses (
     made bigint NOT NULL,
     hash text COLLATE "C" NOT NULL,
     count bigint NOT NULL,
     PRIMARY KEY (made, hash)
   );
   CREATE INDEX blob_uses_by_hash ON blob_uses (hash);
   -- The last commit of each process that writes, to be read back where its answer was lost.
   CREATE TABLE writers (
     id text PRIMARY KEY,
     commits bigint NOT NULL,
     seen_at timestamptz NOT NULL
   );
   CREATE SEQUENCE drivers;
   CREATE SEQUENCE made;`,
  `${addIncarnations}
   -- The length of a blob whose bytes are in pieces. Null: they are in its row. Postgres can read a
   -- part of a row's bytes without the rest, so the rows of version 1 stay as they are.
   ALTER TABLE blobs ADD COLUMN length bigint;
   CREATE TABLE blob_pieces (
     hash text COLLATE "C" NOT NULL REFERENCES blobs ON DELETE CASCADE,
     piece integer NOT NULL,
     bytes bytea NOT NULL,
     PRIMARY KEY (hash, piece)
   );
   ALTER TABLE blob_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
   -- Snapshots of folded sessions. Deleting them costs only time.
   CREATE TABLE snapshots (
     made bigint NOT NULL,
     part integer NOT NULL,
     body text NOT NULL,
     PRIMARY KEY (made, part)
   );`,
  `-- The end of the session's hash chain. Null: the session has no chain.
   ALTER TABLE sessions ADD COLUMN chain text;`,
];
