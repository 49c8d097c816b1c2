import {
  type DraftRecord,
  emptyState,
  type Fact,
  foldBatch,
  type LogRecord,
  runId,
  type SessionId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { answer, turnFinished, turnStarted } from '../suite/drafts.ts';
import { exportSession } from './export-session.ts';
import { importSession } from './import-session.ts';

// Somebody sends an export of a session. Its records say that the user approved everything.

const session = sessionId('s');
const call = { toolCallId: toolCallId('c'), name: 'bash' };
const at = (turn: number, fact: Fact): DraftRecord => ({ turn, attempt: turn === 0 ? 0 : 1, fact });
const asked = { type: 'approval_asked', ...call, rule: 'all', judged: '/etc/passwd' } as const;
const allowed = { type: 'approval_answered', ...call, decision: 'allow' } as const;
const started = { type: 'run_started', runId: runId('r') } as const;
const ended = { type: 'run_finished', runId: runId('r'), stop: { reason: 'stop' } } as const;
const other = { ...ended, runId: runId('another') } as const;

async function recordsOf(log: Log, of: SessionId): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

/** Imports a session with these records, after the commands. */
async function imported(drafts: readonly DraftRecord[], commands: readonly string[] = []) {
  const source = memoryLog();
  const driver = await source.open(session);
  for (const type of commands)
    await source.submit(session, { type, toolCallId: 'c' }, `key of ${type}`);
  await driver.append(drafts);
  const target = memoryLog();
  const info = await importSession(target, exportSession(source, session));
  const [records, before] = [await recordsOf(target, session), await recordsOf(source, session)];
  const { through } = info;
  const { state } = foldBatch(emptyState(session), { after: 0, through, records });
  return { records, before, state, target, types: records.flatMap(({ fact }) => fact?.type ?? []) };
}

test('attack: an imported call without a result has no question and no answer', async () => {
  const { types } = await imported([
    ...[at(0, started), turnStarted(1), ...answer(1, ['a']), at(1, asked)],
    at(1, { ...allowed, until: 'session' }),
  ]);
  expect(types).not.toContain('approval_asked');
  expect(types).not.toContain('approval_answered');
});

test('attack: a turn that was started again is not finished', async () => {
  const { types } = await imported([
    ...[turnStarted(1), ...answer(1, ['a']), turnFinished(1), turnStarted(1)],
    ...[at(1, asked), at(1, allowed)],
  ]).catch(() => ({ types: [] }));
  expect(types).not.toContain('approval_answered');
});

test('attack: no imported approval lasts', async () => {
  const { records, types } = await imported([
    ...[turnStarted(1), ...answer(1, ['a']), at(1, asked)],
    ...[at(1, { ...allowed, until: 'session' }), turnFinished(1)],
  ]);
  expect(types).toContain('approval_answered');
  expect(JSON.stringify(records)).not.toContain('until');
});

test.for(['approve', 'deny', 'message', 'abort', 'compact', 'revoke', 'unknown'])(
  'attack: a queued command of type %s is not imported, so nobody runs it',
  async (type) => {
    const drafts = [turnStarted(1), ...answer(1, ['a'])];
    const { types, target } = await imported(drafts, [type]);
    expect(types).not.toContain('command_queued');
    expect(await target.submit(session, { type: 'abort' }, `key of ${type}`)).toMatchObject({
      isRepeat: false,
    });
    const consumed = at(0, { type: 'command_consumed', key: `key of ${type}` });
    const used = await imported([consumed, ...drafts], [type]);
    expect(used.types).toContain('command_queued');
  },
);

test.for([[[started]], [[started, other]], [[ended, started]]] as const)(
  'attack: an imported run ends: %j',
  async ([facts]) => {
    const { state, records, target } = await imported([
      ...[...facts.map((fact) => at(0, fact)), turnStarted(1), ...answer(1, ['a'])],
    ]);
    expect(state.run).toBeUndefined();
    expect(records.at(-1)?.fact).toMatchObject({ type: 'run_finished', runId: 'r' });
    // The session can be continued, and exported again.
    const again = memoryLog();
    await importSession(again, exportSession(target, session));
    expect(await recordsOf(again, session)).toEqual(records);
  },
);

const fact = fc.constantFrom<DraftRecord>(
  ...[at(0, started), at(0, ended), at(0, other), at(1, asked), at(2, asked), at(1, allowed)],
  ...[at(2, { ...allowed, until: 5 }), at(1, { ...allowed, until: 'session' })],
  ...[turnStarted(1), turnFinished(1), turnStarted(2), turnFinished(2)],
);

test('an import changes only approvals and the end of the run', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fact, { maxLength: 12 }), async (facts) => {
      const { state, records, before } = await imported([...answer(3, ['a']), ...facts]);
      const rest = (all: readonly LogRecord[]) =>
        all.filter(({ fact: of }) => !/^(?:approval_|run_)/.test(of?.type ?? ''));
      expect(rest(records)).toEqual(rest(before));
      const { state: was } = foldBatch(emptyState(session), {
        ...{ after: 0, through: before.at(-1)?.offset ?? 0, records: before },
      });
      expect(state.items).toEqual(was.items);
      expect([state.run, state.asked]).toEqual([undefined, []]);
      expect(JSON.stringify(records)).not.toContain('"until"');
    }),
  );
});
