import { type Item, itemId, type JsonValue } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { diffSessions } from './diff-sessions.ts';

// A person or a model writes values that make the comparison of two sessions slow. The server compares
// sessions in the process that also answers all other requests.

/** Arrays inside of each other. The innermost one has many numbers and ends with `last`. */
function deepList(count: number, last: number): JsonValue {
  let value: JsonValue = [...Array.from({ length: count }, () => 0), last];
  for (let depth = 0; depth < 100; depth++) value = [value];
  return value;
}

const message = (value: JsonValue): readonly Item[] => [
  { id: itemId('m'), kind: 'user', parts: [{ kind: 'structured', value }] },
];

/** Runs the two agents of a comparison. The functions get 1 for the first session, and 2 for the second. */
async function compareRuns(
  input: (run: number) => string | readonly Item[],
  script: (run: number) => Parameters<typeof scriptedProvider>[0],
) {
  const log = memoryLog();
  onTestFinished(() => log.close());
  for (const run of [1, 2]) {
    const provider = scriptedProvider(script(run), { pieces: 'whole' });
    await createAgent({ log, provider }).run(input(run), { session: `s${run}` }).result;
  }
  let rounds = 0;
  let isDone = false;
  const count = () => {
    rounds++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const diff = await diffSessions({ log, session: 's1' }, { log, session: 's2' });
  isDone = true;
  return { diff, rounds };
}

test('18.394: attack: a deep value with many entries is compared in linear time', async () => {
  const { diff } = await compareRuns(
    (run) => message(deepList(400_000, run)),
    () => ['Thanks.'],
  );
  const path = `${'/0'.repeat(100)}/400000`;
  expect(diff.divergence?.changes).toEqual([{ path, a: 1, b: 2 }]);
});

test('18.394: attack: other work runs between the comparisons of many long calls', async () => {
  const calls = (run: number) =>
    Array.from({ length: 12 }, (_, at) =>
      toolCall('look', { text: `${'x'.repeat(140_000)}${run}` }, `c${at}`),
    );
  const { diff, rounds } = await compareRuns(
    () => 'Look',
    (run) => [{ content: { parts: calls(run) } }, 'Done.'],
  );
  expect(diff.differences.filter(({ field }) => field === 'arguments')).toHaveLength(12);
  expect(diff.divergence?.changes).toHaveLength(1);
  expect(rounds).toBeGreaterThan(12);
});

test('18.394: attack: a long key is not repeated for each change below it', async () => {
  const key = 'k'.repeat(100_000);
  const list = (run: number) => Array.from({ length: 50 }, () => run);
  const { diff } = await compareRuns(
    (run) => message({ [key]: list(run), short: { a: run, 'b/c~d': 0 } }),
    () => ['Thanks.'],
  );
  expect(JSON.stringify(diff.divergence?.changes).length).toBeLessThan(500_000);
});

test('18.394: attack: very long arguments are compared as text only', async () => {
  const { diff } = await compareRuns(
    () => 'Look',
    (run) => [{ content: { parts: [toolCall('look', deepList(140_000, run))] } }, 'Done.'],
  );
  expect(diff.divergence).toMatchObject({ field: 'arguments', cause: 'answer' });
  expect(diff.divergence?.changes).toBeUndefined();
});
