import {
  type AgentEvent,
  countingIds,
  type DraftRecord,
  type ItemId,
  liveTranscript,
  sessionId,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import type { ServedAgent } from '@millrace/server';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull, runs } from '../../core/src/testing/runs.ts';
import { CuttingProxy } from '../../server/src/testing/cutting-proxy.ts';
import { appendBatches, recordedRun, userMessage } from '../../server/src/testing/recorded-run.ts';
import type { TaskHandle, TaskSnapshot } from './contract/task-handle.ts';
import { createClient } from './create-client.ts';
import { serving } from './testing/serving.ts';

const listener: ServedAgent = { type: 'async', name: 'listener', onEvent: async () => {} };

/** Starts a server with one task. Its log has this many runs of two turns. */
async function stage(count: number) {
  const log = memoryLog();
  const { port, client } = await serving([listener], { log });
  const { id } = await client().createTask({ agent: 'listener' });
  const ids = countingIds();
  for (let run = 0; run < count; run++)
    await appendBatches(log, sessionId(id), runBatches(run, ids));
  return { log, port, client, id, ids };
}

function runBatches(run: number, ids: ReturnType<typeof countingIds>) {
  return recordedRun(2, ids, { firstTurn: 1 + 2 * run, name: `run${run}` });
}

const wholeState = (log: Log, id: string) => snapshot(log, sessionId(id));

/** Checks that the items of a snapshot are the last items of the session at that record. */
async function expectEnd(log: Log, { items, state, isWhole }: TaskSnapshot) {
  const whole = await snapshot(log, state.session, { through: state.through });
  const expected = liveTranscript(whole).map(({ id, parts }) => ({ id, parts }));
  const shown = items.map(({ id, parts }) => ({ id, parts }));
  expect(shown).toEqual(expected.slice(expected.length - shown.length));
  if (isWhole) expect(shown).toHaveLength(expected.length);
}

async function readAll(task: TaskHandle, end: number): Promise<readonly TaskSnapshot[]> {
  const seen: TaskSnapshot[] = [];
  const leave = task.subscribe(() => seen.push(task.snapshot()));
  await task.until(({ isWhole, state }) => isWhole && state.through === end);
  leave();
  return seen;
}

test('a client reads the recent runs first, and then has the state of all records', async () => {
  const { log, client, id } = await stage(20);
  const whole = await wholeState(log, id);
  const task = client({ firstRecords: 'recent' }).task(id);
  const first = await task.until(({ items }) => items.length > 0);
  expect(first.isWhole).toBe(false);
  expect(first.items.length).toBeLessThan(transcript(whole).length / 2);
  expect(first.state.through).toBe(whole.through);
  await expectEnd(log, first);
  const second = await task.until(({ isWhole }) => isWhole);
  expect(second.state).toEqual(whole);
  expect(task.transcript).toEqual(liveTranscript(whole));
  // Items that were shown first stay the same objects, so that a page does not render them again.
  expect(second.items.slice(-first.items.length)).toEqual(first.items);
  for (const [at, item] of first.items.entries())
    expect(second.items[second.items.length - first.items.length + at]).toBe(item);
});

test('a short session is read as a whole', async () => {
  const { log, client, id } = await stage(2);
  const task = client({ firstRecords: 'recent' }).task(id);
  const seen = await readAll(task, (await wholeState(log, id)).through);
  expect(seen.every(({ isWhole }) => isWhole)).toBe(true);
});

test('the earlier events and the later events are the events of the whole session', async () => {
  const { log, client, id, ids } = await stage(20);
  const [earlier, later]: [AgentEvent[], AgentEvent[]] = [[], []];
  const task = client({ firstRecords: 'recent' }).task(id);
  task.onEarlier((events) => earlier.push(...events));
  const reading = (async () => {
    for await (const event of task.events()) later.push(event);
  })();
  await task.until(({ isWhole, items }) => isWhole && items.length > 0);
  await appendBatches(log, sessionId(id), runBatches(20, ids));
  const { through } = await wholeState(log, id);
  await task.until(({ state }) => state.through === through);
  const isFact = ({ type }: AgentEvent) => type === 'run_finished' || type === 'item_started';
  const ends = () => later.filter(({ type }) => type === 'run_finished').length;
  const earlierEnds = earlier.filter(({ type }) => type === 'run_finished').length;
  expect(earlierEnds).toBeGreaterThan(0);
  await expect.poll(ends).toBe(21 - earlierEnds);
  const all = [...earlier, ...later].filter(isFact);
  expect(all.map(({ offset }) => offset)).toEqual(
    all.map(({ offset }) => offset).toSorted((a, b) => a - b),
  );
  task.close();
  await reading.catch(() => {});
});

test('at every moment, a client that is cut off at any bytes shows the end of the session', async () => {
  const { log, port, id, ids } = await stage(14);
  let next = 14;
  const cuts = fc.array(fc.integer({ min: 0, max: 120_000 }), { maxLength: 4 });
  const property = fc.asyncProperty(cuts, fc.boolean(), async (bytes, isGrowing) => {
    const proxy = await CuttingProxy.before(port);
    proxy.cutNext(...bytes);
    const url = `http://127.0.0.1:${proxy.port}`;
    const client = createClient({ url, random: () => 0, firstRecords: 'recent' });
    const task = client.task(id);
    const seen: TaskSnapshot[] = [];
    task.subscribe(() => seen.push(task.snapshot()));
    await task.until(({ items }) => items.length > 0);
    if (isGrowing) await appendBatches(log, sessionId(id), runBatches(next++, ids));
    const whole = await wholeState(log, id);
    await task.until(({ isWhole, state }) => isWhole && state.through === whole.through);
    expect(task.snapshot().state).toEqual(whole);
    for (const one of seen) await expectEnd(log, one);
    client.close();
    await proxy.close();
  });
  await fc.assert(property, { numRuns: isFull ? runs(60) : 4 });
});

test('a client that has only the recent items reads all records if an earlier item is redacted', async () => {
  const { log, client, id } = await stage(20);
  const [first] = transcript(await wholeState(log, id));
  const task = client({ firstRecords: 'recent' }).task(id);
  await task.until(({ items }) => items.length > 0);
  expect(task.snapshot().isWhole).toBe(false);
  await appendBatches(log, sessionId(id), [redaction(first?.id)]);
  const whole = await wholeState(log, id);
  await task.until(({ isWhole, state }) => isWhole && state.through === whole.through);
  expect(task.snapshot().items[0]?.redacted).toBe(true);
  expect(task.snapshot().state).toEqual(whole);
});

function redaction(itemId: ItemId | undefined): readonly DraftRecord[] {
  if (itemId === undefined) throw new Error('The session has no items');
  return [{ turn: 0, attempt: 0, fact: { type: 'item_redacted', itemId, reason: 'test' } }];
}

test('an unfinished run is read as it is', async () => {
  const { log, client, id, ids } = await stage(20);
  await appendBatches(log, sessionId(id), [
    userMessage(ids, 'Go on'),
    ...runBatches(20, ids).slice(1, 9),
  ]);
  const whole = await wholeState(log, id);
  const task = client({ firstRecords: 'recent' }).task(id);
  await readAll(task, whole.through);
  expect(task.snapshot().state).toEqual(whole);
  expect(task.snapshot().isRunning).toBe(true);
});
