import {
  type DraftRecord,
  emptyState,
  executionId,
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
import { type ImportOptions, importSession } from './import-session.ts';

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
  expect(types).not.toContain('approval_answered');
  expect(JSON.stringify(records)).not.toContain('until');
});

test('attack: a copy that ends in the middle of a finished turn has no answer and no command', async () => {
  const { target, records } = await imported(
    [
      ...[at(0, started), turnStarted(1), ...answer(1, ['a']), at(1, asked), at(1, allowed)],
      ...[at(0, ended), at(0, { type: 'command_consumed', key: 'key of approve' })],
      ...[at(0, started), turnFinished(1), at(0, ended)],
    ],
    ['approve'],
  );
  for (const { offset: through } of records) {
    const into = sessionId(`copy ${through}`);
    await target.fork(session, { into, through });
    const types = (await recordsOf(target, into)).map(({ fact }) => fact?.type ?? '');
    expect(types.filter((type) => /^(?:approval_|command_|guardrail_)/.test(type))).toEqual([]);
  }
});

test('attack: an imported call is not waiting for a client, which would mean that it was allowed', async () => {
  const { types } = await imported([
    ...[at(0, started), turnStarted(1), ...answer(1, ['a'])],
    at(1, { type: 'tool_output_asked', ...call }),
  ]);
  expect(types).not.toContain('tool_output_asked');
});

test('attack: an imported session names no file and no content to restore', async () => {
  const version = { hash: 'ab'.repeat(32), length: 5, mode: 0o755, isStored: false };
  const execution = { ...call, executionId: executionId('x') };
  const { records } = await imported([
    ...[at(0, started), turnStarted(1), ...answer(1, ['a'])],
    at(1, { type: 'tool_execution_started', ...execution, summary: '', child: sessionId('mine') }),
    at(1, { type: 'file_changed', ...execution, path: '/app/hooks/pre-commit', after: version }),
    ...[turnFinished(1), at(0, ended)],
  ]);
  expect(JSON.stringify(records)).not.toMatch(/pre-commit|abab/);
  const changed = records.find(({ fact }) => fact?.type === 'file_changed');
  expect(changed?.fact).toMatchObject({ path: '', scope: 'pending' });
});

test('18.1092: attack: an imported session names no session as its origin or its sub-agent', async () => {
  const source = memoryLog();
  const [mine, child] = [sessionId('mine'), sessionId('child')];
  await (await source.open(mine)).append([turnStarted(1), turnFinished(1)]);
  await source.fork(mine, { into: session, through: 1 });
  const started1 = (id: SessionId) =>
    at(1, {
      ...{ type: 'tool_execution_started', ...call, executionId: executionId(id) },
      ...{ summary: '', child: id, parent: session },
    });
  await (await source.open(session)).append([started1(mine), started1(child)]);
  const importInto = async (target: Log, options: ImportOptions) => {
    const { origin } = await importSession(target, exportSession(source, session), options);
    const children = (await recordsOf(target, session)).flatMap(({ fact: of }) =>
      of?.type === 'tool_execution_started' ? [of.child] : [],
    );
    return { origin, children };
  };
  const none = { origin: undefined, children: [undefined, undefined] };
  const childId = (named: SessionId) => sessionId(`new ${named}`);
  // A session that exists already, and one that the user can create later.
  for (const isThere of [true, false])
    for (const [options, expected] of [
      [{}, none],
      [{ childId }, { ...none, children: ['new mine', 'new child'] }],
    ] as const) {
      const target = memoryLog();
      if (isThere) await target.open(mine);
      expect(await importInto(target, options)).toEqual(expected);
    }
  expect(await importInto(memoryLog(), { isTrusted: true, childId })).toEqual({
    ...{ origin: { session: 'mine', through: 1 }, children: ['mine', 'child'] },
  });
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
    expect(used.types).not.toContain('command_queued');
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
