import { Client, type ClientConfig, types } from 'pg';
import { soon } from './soon.ts';
import type { Target } from './target.ts';

/** How long an answer is waited for; a server that is stopped or cut off gives none. */
const answerTimeoutMs = 30_000;
/** How long one who stands still within a transaction may keep the others from a session. */
const idleInTransactionMs = 5_000;
/** Longer than that: whoever waits for one who stands still gets what he waits for. */
const lockTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

const int8 = 20;

/** Offsets and times are numbers here; what Postgres calls bigint would be a text. */
const numbers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/** With what its types do not tell of: whether it keeps its process alive. */
export type Connection = Client & { ref(): void; unref(): void };

/** What every connection is made with. */
export function clientConfig(target: Target): ClientConfig {
  return {
    connectionString: target.url,
    application_name: `millrace ${target.schema}`,
    types: numbers,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

/** A connection of one's own. */
export async function connect(
  target: Target,
  config: { pipeline?: boolean } = {},
): Promise<Connection> {
  const client = new Client({ ...clientConfig(target), ...config }) as Connection;
  // It is told by whatever is asked next; without a listener it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await soon(client.end());
    throw error;
  }
}
