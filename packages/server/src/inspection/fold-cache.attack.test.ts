import { createAgent } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import { foldCacheFor } from './fold-cache.ts';

const countsFor = foldCacheFor({
  empty: { through: 0, records: 0 },
  fold: ({ through, records }, page) => ({ through, records: records + page.length }),
});

test('18.669: attack: many requests for a session that is not in memory fold its log once each', async () => {
  const stored = memoryLog();
  let reads = 0;
  const read: Log['read'] = (...given) => {
    reads++;
    return stored.read(...given);
  };
  const log = withMethods(stored, { read });
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log: stored });
  const { session } = await agent.run('Hello').result;
  const cache = countsFor(log);
  const results = await Promise.all(Array.from({ length: 20 }, () => cache.read(session)));
  const { through } = (await stored.info(session)) ?? {};
  expect(new Set(results.map(({ state }) => state.records))).toEqual(new Set([through]));
  expect(reads).toBe(1);
  // A request that starts after a new record gets it, even if an earlier read is still running.
  const earlier = cache.read(session);
  const { session: same } = await agent.run('Again', { session }).result;
  const later = await cache.read(same);
  await earlier;
  expect(later.state.through).toBe((await stored.info(session))?.through);
  await stored.close();
});
