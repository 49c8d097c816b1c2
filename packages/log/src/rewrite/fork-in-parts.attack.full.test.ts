import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { encodeRecord, itemId, sessionId } from '@millrace/core';
import { afterAll, describe, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { wholeItem, wholeTurn } from '../suite/drafts.ts';
import { readAll } from '../suite/follower.ts';

const session = sessionId('s');
const into = sessionId('fork');
const secret = 'the password of the weather station';
const folder = mkdtempSync(join(tmpdir(), 'fork-in-parts-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const stores: Readonly<Record<string, () => Log>> = {
  memory: () => memoryLog(),
  SQLite: () => sqliteLog({ path: join(folder, `${++files}.db`) }),
};

/** Returns a log with a session of about 2 MB. Item 2 contains the secret. */
async function longSession(open: () => Log): Promise<Log> {
  const log = open();
  const driver = await log.open(session);
  for (let at = 1; at <= 20; at++) {
    const text = (at === 2 ? secret : 'words ').repeat(at === 2 ? 1 : 16_000);
    await driver.append(wholeItem(`item ${at}`, { kind: 'text', text }));
    await driver.append(wholeTurn(at, ['a', 'b', 'c']));
  }
  await driver.release();
  return log;
}

async function textOf(log: Log): Promise<string> {
  return (await readAll(log, into)).map(encodeRecord).join('\n');
}

describe.each(Object.keys(stores))('a fork of a long session in the %s log', (name) => {
  const open = stores[name] ?? memoryLog;

  test('18.451: attack: a fork of a long session does not stop the work of others', async () => {
    const log = await longSession(open);
    const { through = 0 } = (await log.info(session)) ?? {};
    let parts = 0;
    let rounds = 0;
    let isOver = false;
    /** Counts how often the parts of the copy let the event loop handle other work. */
    const others = (async () => {
      for (let seen = 0; !isOver; ) {
        await nextRound();
        if (parts > seen) rounds++;
        seen = parts;
      }
    })();
    let written = 0;
    /** Writes to another session during the copy. */
    const writes = (async () => {
      while (!isOver) {
        await log.submit(sessionId('other'), {}, `key ${written}`);
        if (parts > 0 && !isOver) written++;
        await nextRound();
      }
    })();
    const onCopy = (bytes: number) => {
      parts++;
      expect(bytes).toBeLessThan(2 ** 20);
    };
    await log.fork(session, { into, through, onCopy });
    isOver = true;
    await Promise.all([others, writes]);
    expect(parts).toBeGreaterThan(5);
    expect(written).toBeGreaterThan(1);
    expect(rounds).toBeGreaterThanOrEqual(parts - 1);
    await log.close();
  });

  test('contains no content that is redacted during the copy', async () => {
    const log = await longSession(open);
    // The first redaction loads the code. Without it, the second one could begin after the fork.
    await log.redact(session, itemId('item 20'));
    const { through = 0 } = (await log.info(session)) ?? {};
    let redacted: Promise<void> | undefined;
    let isRedacted = false;
    let parts = 0;
    // The part with the secret is already copied when the item is redacted.
    const onCopy = () => {
      if (++parts !== 2) return;
      redacted = log.redact(session, itemId('item 2')).then(() => {
        isRedacted = true;
      });
    };
    await log.fork(session, { into, through, onCopy });
    expect(isRedacted).toBe(true);
    await redacted;
    expect(await textOf(log)).not.toContain(secret);
    expect((await log.info(into))?.through).toBe(through + 1);
    await log.close();
  });

  test('is complete if the session is changed during each try', async () => {
    const log = await longSession(open);
    const { through = 0 } = (await log.info(session)) ?? {};
    const changes: Promise<unknown>[] = [];
    let turn = 0;
    const onCopy = () => {
      if (turn < 20) changes.push(log.settle(session, ++turn));
    };
    await log.fork(session, { into, through, onCopy });
    await Promise.all(changes);
    const source = await readAll(log, session);
    const copy = await readAll(log, into);
    expect(copy.at(-1)?.offset).toBe(source.at(-1)?.offset);
    expect(await textOf(log)).toContain(secret);
    expect((await log.list()).map((one) => String(one.session))).toEqual(['fork', 's']);
    await log.close();
  });

  test('fails if the session is deleted during the copy, and leaves nothing', async () => {
    const log = await longSession(open);
    const { through = 0 } = (await log.info(session)) ?? {};
    let deleted: Promise<boolean> | undefined;
    const onCopy = () => {
      deleted ??= log.delete(session);
    };
    const forked = log.fork(session, { into, through, onCopy });
    await expect(forked).rejects.toMatchObject({ code: 'no_session' });
    expect(await deleted).toBe(true);
    expect(await log.list()).toEqual([]);
    await log.close();
  });
});
