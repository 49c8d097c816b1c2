import { countingIds, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { appendBatches, recordedRun } from '../testing/recorded-run.ts';
import { foldCacheFor } from './fold-cache.ts';

// In the attack, a client with a read-only token asked for the outline of a long task twenty times at once. The
// server folded the whole log twenty times, which took 51 s.

test('18.680: attack: each of many reads at the same time folds the whole log', async () => {
  const log = memoryLog();
  onTestFinished(() => log.close());
  const session = sessionId('long');
  const ids = countingIds();
  const append = (firstTurn: number) =>
    appendBatches(log, session, recordedRun(2, ids, { firstTurn, name: `run ${firstTurn}` }));
  for (let turn = 1; turn < 80; turn += 2) await append(turn);
  let folded = 0;
  const counts = foldCacheFor<{ through: number; count: number }>({
    empty: { through: 0, count: 0 },
    fold: (before, records) => {
      folded += records.length;
      return { through: before.through, count: before.count + records.length };
    },
  })(log);
  const results = await Promise.all(Array.from({ length: 20 }, () => counts.read(session)));
  const { state } = await counts.read(session);
  expect(state.count).toBeGreaterThan(1000);
  expect(folded).toBe(state.count);
  for (const one of results) expect(one).toEqual({ state, isWhole: true });

  // A read that starts later includes what was stored before it.
  const earlier = counts.read(session);
  await append(81);
  const later = await counts.read(session);
  expect(later.state.count).toBeGreaterThan((await earlier).state.count - 1);
  expect(later.state.through).toBe((await log.info(session))?.through);
});

test('18.680: a read that fails does not stop the later ones', async () => {
  const log = memoryLog();
  onTestFinished(() => log.close());
  const session = sessionId('broken');
  await appendBatches(log, session, recordedRun(1, countingIds(), { firstTurn: 1, name: 'run' }));
  let fails = true;
  const counts = foldCacheFor<{ through: number }>({
    empty: { through: 0 },
    fold: (before) => {
      if (!fails) return before;
      fails = false;
      throw new Error('once');
    },
  })(log);
  const [first, second] = await Promise.allSettled([counts.read(session), counts.read(session)]);
  expect(first.status).toBe('rejected');
  expect(second).toMatchObject({ status: 'fulfilled', value: { isWhole: true } });
});
