import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  attemptOf,
  countingIds,
  DeltaWriter,
  type DraftRecord,
  decodeBatch,
  decodeEvent,
  emptyState,
  Folder,
  type FoldState,
  type LogRecord,
  noUsage,
  runId,
  sessionId,
  toArray,
  transcript,
} from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import { type Log, memoryLog, sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rebuild } from '../../../core/src/testing/rebuild.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { readWholeSession } from '../../../log/src/any-log/read-session.ts';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import type { FrameView, ViewName } from '../contract/stream.ts';
import { loadRecentState } from '../journal/local-journal.ts';
import { appendBatches, recordedRun, userMessage } from '../testing/recorded-run.ts';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { views } from './frames/views.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-long-streams-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const session = sessionId('long');

/** Opens a log in a file. A newly opened log has no data in memory. It stores snapshots often. */
function openLog(name: string): Log {
  const log = sqliteLog({ path: join(folder, `${name}.db`) });
  sessionStates(log, { recordsPerSnapshot: 200 });
  return log;
}

/** Writes batches to a log that sometimes stores snapshots. */
async function write(name: string, batches: readonly (readonly DraftRecord[])[]): Promise<void> {
  const log = openLog(name);
  const driver = await log.open(session);
  for (const [index, batch] of batches.entries()) {
    await driver.append(batch);
    if (index % 3 === 0) await loadRecentState(log, session);
  }
  await driver.release();
  await sessionStates(log).saved();
  await log.close();
}

/** Runs of about 90 records, each in one batch. */
function shortRuns(count: number): readonly (readonly DraftRecord[])[] {
  const ids = countingIds();
  return Array.from({ length: count }, (_, run) =>
    recordedRun(1, ids, { firstTurn: run + 1, name: `run${run}` }).flat(),
  );
}

describe('21.F law 18: a stream', () => {
  beforeAll(async () => {
    await write('short', shortRuns(25));
    await write('long', shortRuns(100));
  });

  /** Counts the records that a new process reads for a stream that ends when everything was sent. */
  async function costOf(name: string, view: ViewName, behind: number | undefined) {
    const stored = openLog(name);
    const { log, take } = countingLog(stored);
    sessionStates(log, { recordsPerSnapshot: 200 });
    const { through } = (await log.info(session)) ?? expect.fail();
    take();
    await using server = await startStreamServer({ log, stream: { until: 'idle' } });
    const from = behind === undefined ? '' : `&from=${through - behind}`;
    await new SseReader({ port: server.port, path: `/long?view=${view}${from}` }).waitForEnd();
    const cost = take();
    await stored.close();
    return cost;
  }

  test.each([
    ['records', 50],
    ['events', 50],
    ['events', 1500],
    ['updates', 50],
    ['ui', 50],
    ['updates', undefined],
    ['ui', undefined],
  ] as const)('of %s, %s records behind, reads as much in a long session', async (view, behind) => {
    const short = await costOf('short', view, behind);
    const long = await costOf('long', view, behind);
    expect(long.calls).toBeLessThanOrEqual(short.calls + 4);
    expect(long.records).toBeLessThanOrEqual(1.25 * short.records + 200);
    expect(long.bytesRead).toBeLessThanOrEqual(1.25 * short.bytesRead + 20_000);
  });
});

/** A run that waits for an approval, and the run that continues its turn. */
function parkedRuns(turn: number, ids: ReturnType<typeof countingIds>): readonly DraftRecord[] {
  const [itemId, at, out] = [ids.item(), { turn, attempt: 1 }, { turn: 0, attempt: 0 }];
  const writer = new DeltaWriter({ itemId, ...at, ids });
  const toolCallId = ids.toolCall();
  const call = writer.toolCall(toolCallId, 'refund');
  call.append('{"order":7}');
  call.commit();
  const deltas = writer.take().map((delta) => ({ ...at, delta }));
  const [parked, next] = [runId(`parked${turn}`), runId(`next${turn}`)];
  const tool = { toolCallId, name: 'refund', executionId: ids.execution() };
  const stop = { reason: 'stop' } as const;
  return [
    ...userMessage(ids, 'Refund order 7'),
    { ...out, fact: { type: 'run_started', runId: parked } },
    { turn, attempt: 0, fact: { type: 'turn_started' } },
    { ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } },
    ...deltas,
    {
      ...at,
      fact: { type: 'response_finished', itemId, stop: { reason: 'tool_use' }, usage: noUsage },
    },
    { ...at, fact: { type: 'approval_asked', toolCallId, name: 'refund' } },
    { ...out, fact: { type: 'run_finished', runId: parked, stop: { reason: 'parked' } } },
    { ...out, fact: { type: 'run_started', runId: next } },
    { ...at, fact: { type: 'approval_answered', toolCallId, name: 'refund', decision: 'allow' } },
    { ...at, fact: { type: 'tool_execution_started', ...tool, summary: 'refund 7' } },
    {
      ...at,
      fact: { type: 'tool_execution_finished', ...tool, isError: false, outcome: 'completed' },
    },
    { turn, attempt: 0, fact: { type: 'turn_finished', itemId, stop } },
    { ...out, fact: { type: 'run_finished', runId: next, stop } },
  ];
}

/** Retracts the answer of an old turn, like an edit. */
function edit(state: FoldState, turn: number): readonly DraftRecord[] {
  const item = toArray(state.items).find((one) => one.turn === turn && one.kind === 'assistant');
  const slot = item?.parts.find(({ part }) => part?.kind === 'text') ?? expect.fail();
  const delta = { type: 'retract_part', partId: slot.id, reason: 'edited' } as const;
  return [{ ...attemptOf(slot.id), delta }];
}

type RunKind = 'run' | 'parked' | 'edit';

/** Returns the batches of a session with runs of these kinds. The last message marks the end. */
async function sessionOf(kinds: readonly RunKind[]): Promise<readonly (readonly DraftRecord[])[]> {
  const log = memoryLog();
  const ids = countingIds();
  const written: (readonly DraftRecord[])[] = [];
  const append = async (batch: readonly DraftRecord[]) => {
    await appendBatches(log, session, [batch]);
    written.push(batch);
  };
  await append(recordedRun(1, ids, { firstTurn: 1, name: 'first' }).flat());
  let turn = 1;
  for (const [index, kind] of kinds.entries()) {
    if (kind === 'run')
      await append(recordedRun(2, ids, { firstTurn: turn + 1, name: `run${index}` }).flat());
    if (kind === 'parked') await append(parkedRuns(turn + 1, ids));
    // An item is edited only once.
    if (kind === 'edit' && kinds.indexOf(kind) === index)
      await append(edit((await loadRecentState(log, session)).state, 1));
    turn += kind === 'run' ? 2 : 1;
  }
  await append(userMessage(ids, 'the end'));
  return written;
}

/**
 * Returns the frames without streamed text. Appends may be merged, so the number of their frames is not
 * fixed.
 */
function fixedFrames(frames: readonly Frame[]): readonly string[] {
  const isStreamed = /"type":"(?:[a-z_-]*delta|tool_execution_update|data-tool-progress)"/;
  return frames.flatMap(({ id = '', data }) => (isStreamed.test(data) ? [] : `${id} ${data}`));
}

/** Returns the frames after an offset, computed from a state with all items. */
function expectedFrames(
  view: FrameView,
  records: Awaited<ReturnType<typeof readWholeSession>>['records'],
  after: number,
): readonly Frame[] {
  const whole = new Folder(emptyState(session));
  const frames: Frame[] = [];
  for (const record of records) {
    const { offset: through } = record;
    const batch = { after: through - 1, through, records: [record] };
    const { outcome } = whole.addBatch(batch, (before, added, next) => {
      if (through > after) frames.push(...view.frames(before, added, next));
    });
    expect(outcome).toBe('applied');
  }
  return frames;
}

describe('21.F: a stream that starts without the old items of a session', () => {
  let files = 0;

  test('has the frames of a stream with all items', async () => {
    const kinds = fc.array(fc.constantFrom<RunKind>('run', 'run', 'parked', 'edit'), {
      minLength: 4,
      maxLength: 9,
    });
    const property = fc.asyncProperty(kinds, fc.nat(), async (all, at) => {
      const name = `random${++files}`;
      await write(name, await sessionOf(all));
      const log = openLog(name);
      const { records, info } = await readWholeSession(log, session);
      const random = at % info.through;
      await using server = await startStreamServer({ log, stream: { until: 'idle' } });
      // Inside a finished turn, a stream of events continues with the snapshot of the turn.
      const isOutside = ({ offset, fact }: LogRecord) =>
        offset <= random && (fact?.type === 'turn_finished' || fact?.type === 'run_started');
      const outside = records.findLast(isOutside)?.offset ?? 0;
      for (const view of ['events', 'updates', 'ui'] as const) {
        const after = view === 'events' ? outside : random;
        const path = `/long?view=${view}&from=${after}`;
        const reader = await new SseReader({ port: server.port, path }).waitForEnd();
        const received = reader.messages.flatMap(({ id, data, event }) =>
          id === undefined || event !== 'message' ? [] : { id: id.replace(/-.*/, ''), data },
        );
        const expected = expectedFrames(views[view] ?? expect.fail(), records, after);
        expect(fixedFrames(received)).toEqual(fixedFrames(expected));
      }
      await log.close();
    });
    await fc.assert(property, { numRuns: runs(5) });
  });

  test('has all content in pages, if the client has no cursor', async () => {
    const ids = countingIds();
    const batches = Array.from({ length: 9 }, (_, run) => [
      ...recordedRun(1, ids, { firstTurn: run + 1, name: `run${run}` }).flat(),
      ...userMessage(ids, `${run}`.repeat(90_000)),
    ]);
    await write('pages', batches);
    const log = openLog('pages');
    const { records } = await readWholeSession(log, session);
    const whole = new Folder(emptyState(session));
    for (const record of records) whole.add(record);
    await using server = await startStreamServer({ log, stream: { until: 'idle' } });
    // The second reader gets pages that are still in memory.
    for (const view of ['records', 'events', 'records'] as const) {
      const path = `/long?view=${view}`;
      const reader = await new SseReader({ port: server.port, path }).waitForEnd();
      const received = reader.messages.filter(({ event }) => event === 'message');
      if (view === 'events') {
        const events = received.map(({ data }) => decodeEvent(data));
        expect(events.filter(({ type }) => type === 'turn_settled')).toHaveLength(9);
        expect(rebuild(events)).toEqual(transcript(whole.state));
      } else {
        expect(received.length).toBeGreaterThan(2);
        const folded = new Folder(emptyState(session));
        for (const { data } of received)
          expect(folded.addBatch(decodeBatch(data)).outcome).toBe('applied');
        expect(transcript(folded.state)).toEqual(transcript(whole.state));
      }
    }
    await log.close();
  });
});
