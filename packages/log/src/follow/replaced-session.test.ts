import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { afterAll, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { markers } from '../suite/drafts.ts';
import { Follower } from '../suite/follower.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-replaced-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const session = sessionId('s');

// The conformance suite also accepts `rewound`, for stores that give each session an incarnation.
test.for([
  ['memory', (): Log => memoryLog()],
  ['SQLite', (): Log => sqliteLog({ path: join(folder, 'log.db') })],
] as const)(
  'a session that was created again is `no_session` to its follower: %s',
  async ([, open]) => {
    const log = open();
    await (await log.open(session)).append(markers(3));
    const follower = await new Follower(log, session).reach(3);
    const end = follower.reach(9).catch((error: unknown) => error);
    await log.delete(session);
    await (await log.open(session)).append(markers(9));
    expect(await end).toMatchObject({ code: 'no_session' });
    await log.close();
  },
);
