import {
  countingIds,
  emptyState,
  Folder,
  type FoldState,
  foldBatch,
  itemId,
  type LogRecord,
  type SessionId,
  sessionId,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { frameRecording } from '../packages/providers/src/scripted-server/framing/frame-recording.ts';
import { fetchOf } from '../packages/providers/src/testing/fetch-of.ts';
import { drawnCasesOf } from '../packages/providers/src/testing/play.ts';
import { type WireUnderTest, wireTable } from '../packages/providers/src/testing/wire-table.ts';

const at = { turn: 1, attempt: 1 };
const user = { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] } as const;

/** Streams a recording into a log as one turn. */
async function record(under: WireUnderTest, name: string, lines: readonly string[]) {
  const log = memoryLog();
  const session = sessionId(name);
  const driver = await log.open(session);
  const ids = countingIds();
  const id = ids.item();
  await driver.append([
    { ...at, fact: { type: 'turn_started' } },
    { ...at, fact: { type: 'item_started', itemId: id, kind: 'assistant' } },
  ]);
  const { fetch } = fetchOf([frameRecording(under.wire, lines)]);
  const stream = under
    .provider(fetch, name)
    .stream({ items: [user] }, { item: { id, ...at }, ids });
  for await (const { deltas, end } of stream) {
    const drafts = deltas.map((delta) => ({ ...at, delta }));
    if (end === undefined) await driver.append(drafts);
    else {
      const { stop, usage } = end;
      const finished = {
        ...at,
        fact: { type: 'response_finished', itemId: id, stop, usage },
      } as const;
      await driver.append([
        ...drafts,
        finished,
        { ...at, fact: { type: 'turn_finished', itemId: id, stop } },
      ]);
    }
  }
  await driver.release();
  return { log, session };
}

async function resumed(log: Log, session: SessionId, from: FoldState): Promise<FoldState> {
  const folder = new Folder(from);
  for await (const batch of log.follow(session, { from: from.through, until: 'idle' })) {
    expect(folder.addBatch(batch).outcome).toBe('applied');
  }
  return folder.state;
}

const stateAt = (session: SessionId, records: readonly LogRecord[], through: number): FoldState =>
  foldBatch(emptyState(session), {
    after: 0,
    through,
    records: records.filter(({ offset }) => offset <= through),
  }).state;

describe.each(wireTable)('law 5, $wire', (under) => {
  test.each(drawnCasesOf(under.wire))(
    '$name: a stream resumed after any record gives the same transcript',
    async ({ name, lines }) => {
      const { log, session } = await record(under, name, lines);
      const { records, through } = await log.read(session);
      const whole = transcript(stateAt(session, records, through));
      for (const isSettled of [false, true]) {
        if (isSettled) await log.settle(session, 1);
        for (let cut = 0; cut <= through; cut++) {
          const state = await resumed(log, session, stateAt(session, records, cut));
          expect(transcript(state)).toEqual(whole);
        }
      }
      await log.close();
    },
  );
});
