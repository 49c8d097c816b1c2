import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Folder } from '../fold/fold.ts';
import { mergeBatch } from '../fold/merge.ts';
import { settleTurn } from '../fold/settle-turn.ts';
import { transcript } from '../fold/transcript.ts';
import { executionId, toolCallId } from '../ids.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { foldAll } from '../testing/fold-all.ts';
import { randomLog, testSession } from '../testing/random-log.ts';
import { rebuild } from '../testing/rebuild.ts';
import { item, TestLog } from '../testing/write-log.ts';
import type { AgentEvent } from './agent-event.ts';
import { agentEvents } from './agent-events.ts';

function eventsOf(...batches: readonly Batch[]): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  const folder = new Folder(testSession);
  for (const batch of batches) {
    folder.addBatch(batch, (before, record, after) => {
      events.push(...agentEvents(before, record, after));
    });
  }
  return events;
}

const allOf = (records: readonly LogRecord[]): Batch => ({
  after: 0,
  through: records.length,
  records,
});

const transcriptOf = (records: readonly LogRecord[]) => transcript(foldAll(records));

test('a turn that calls a tool has the events of the protocol', () => {
  const log = new TestLog();
  const call = toolCallId('c1');
  const text = log.writer.text();
  text.append('Let me check.');
  text.commit();
  const read = log.writer.toolCall(call, 'read');
  read.append('{"path":');
  read.append('"src/config.ts"}');
  read.commit();
  const execution = executionId('x1');
  const stop = { reason: 'tool_use' } as const;
  log
    .take()
    .fact({
      type: 'tool_execution_started',
      toolCallId: call,
      executionId: execution,
      name: 'read',
      summary: 'read src/config.ts',
    })
    .fact({
      type: 'tool_execution_finished',
      toolCallId: call,
      executionId: execution,
      name: 'read',
      isError: false,
      outcome: 'completed',
    })
    .fact({ type: 'item_finished', itemId: item, stop })
    .fact({ type: 'turn_finished', itemId: item, stop });

  const session = testSession;
  const head = { session, turn: 1, attempt: 1 };
  const at = (offset: number) => ({ ...head, offset, time: offset * 10 });
  const ofText = { partId: '1.1.p1', itemId: item };
  const ofCall = { partId: '1.1.p2', itemId: item, toolCallId: call };
  const parts = [
    { kind: 'text', text: 'Let me check.' },
    {
      kind: 'tool_call',
      toolCallId: call,
      name: 'read',
      arguments: '{"path":"src/config.ts"}',
      input: { path: 'src/config.ts' },
    },
  ];
  expect(eventsOf(allOf(log.records))).toEqual([
    { ...at(1), type: 'item_started', itemId: item, kind: 'assistant' },
    { ...at(2), type: 'part_started', ...ofText, kind: 'text' },
    { ...at(3), type: 'assistant_text_delta', ...ofText, at: 0, text: 'Let me check.' },
    { ...at(4), type: 'part_finished', ...ofText, kind: 'text' },
    { ...at(5), type: 'tool_call_started', ...ofCall, name: 'read' },
    { ...at(6), type: 'tool_call_arguments_delta', ...ofCall, at: 0, delta: '{"path":' },
    { ...at(7), type: 'tool_call_arguments_delta', ...ofCall, at: 8, delta: '"src/config.ts"}' },
    { ...at(8), type: 'part_finished', partId: '1.1.p2', itemId: item, kind: 'tool_call' },
    {
      ...at(8),
      type: 'tool_call_ready',
      ...ofCall,
      name: 'read',
      input: { path: 'src/config.ts' },
    },
    {
      ...at(9),
      type: 'tool_execution_started',
      toolCallId: call,
      executionId: execution,
      name: 'read',
      summary: 'read src/config.ts',
    },
    {
      ...at(10),
      type: 'tool_execution_finished',
      toolCallId: call,
      executionId: execution,
      name: 'read',
      isError: false,
      outcome: 'completed',
    },
    { ...at(11), type: 'item_finished', itemId: item, stop },
    {
      ...at(12),
      type: 'turn_finished',
      itemId: item,
      stop,
      message: { id: item, kind: 'assistant', parts, stop },
    },
  ]);
});

describe('a tool call', () => {
  test('that is no JSON is finished, and never ready', () => {
    const log = new TestLog();
    const call = log.writer.toolCall(toolCallId('c1'), 'read');
    call.append('{"path":');
    call.commit();
    const types = eventsOf(allOf(log.take().records)).map(({ type }) => type);
    expect(types).toEqual([
      'item_started',
      'tool_call_started',
      'tool_call_arguments_delta',
      'part_finished',
    ]);
  });

  test('that came whole is started and ready', () => {
    const log = new TestLog();
    const part = { kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'ls', arguments: '' };
    log.writer.whole(part as never);
    const [, ...events] = eventsOf(allOf(log.take().records));
    expect(events.map(({ type }) => type)).toEqual([
      'tool_call_started',
      'part_finished',
      'tool_call_ready',
    ]);
  });

  test('that replaces a result of the same call is started all the same', () => {
    const log = new TestLog();
    const id = toolCallId('c1');
    const result = log.writer.toolResult(id, 'ls');
    result.replace({ kind: 'tool_call', toolCallId: id, name: 'ls', arguments: '' });
    const types = eventsOf(allOf(log.take().records)).map(({ type }) => type);
    expect(types.slice(2)).toEqual(['tool_call_started', 'part_finished', 'tool_call_ready']);
  });

  test('that is retracted is named by its call, open or committed', () => {
    const log = new TestLog();
    const call = log.writer.toolCall(toolCallId('c1'), 'read');
    const other = log.writer.toolCall(toolCallId('c2'), 'read');
    other.commit();
    call.retract('aborted');
    other.retract('withdrawn');
    const events = eventsOf(allOf(log.take().records)).slice(-2);
    expect(events).toMatchObject([
      { type: 'part_retracted', toolCallId: 'c1', reason: 'aborted' },
      { type: 'part_retracted', toolCallId: 'c2', reason: 'withdrawn' },
    ]);
  });
});

const logs = fc
  .array(fc.nat(0xffff), { minLength: 1, maxLength: 400, size: 'max' })
  .map((seed) => randomLog(seed));

describe('who has heard of nothing but events', () => {
  test('has the transcript in the end', () => {
    fc.assert(
      fc.property(logs, (records) => {
        expect(rebuild(eventsOf(allOf(records)))).toEqual(transcriptOf(records));
      }),
    );
  });

  test('has it too when the log came merged, or was cut anywhere and overlapped at the seam', () => {
    fc.assert(
      fc.property(logs, fc.nat(), fc.nat(9), (records, at, overlap) => {
        const cut = at % records.length;
        const before = { after: 0, through: cut, records: records.slice(0, cut) };
        // The batch reaches back over the cut, as a store that merged it earlier would send it.
        const back = Math.max(0, cut - overlap);
        const rest = { after: back, through: records.length, records: records.slice(back) };
        const events = eventsOf(mergeBatch(before), mergeBatch(rest));
        expect(rebuild(events)).toEqual(transcriptOf(records));
      }),
    );
  });

  test('has it too when finished turns were settled after the cut', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const cut = at % records.length;
        const turns = records.flatMap(({ fact, turn }) =>
          fact?.type === 'turn_finished' ? turn : [],
        );
        const state = foldAll(records);
        const settled = turns.reduce((log, turn) => settleTurn(log, turn, state), records);
        const before = { after: 0, through: cut, records: records.slice(0, cut) };
        const behind = settled.filter(({ offset }) => offset > cut);
        const events = eventsOf(before, { after: cut, through: records.length, records: behind });
        expect(rebuild(events)).toEqual(transcriptOf(records));
      }),
    );
  });
});

test('a settled turn has one event', () => {
  const log = new TestLog();
  const covers = [2, 2] as const;
  log.fact({ type: 'snapshot', covers, items: [] });
  expect(eventsOf(allOf(log.records)).at(-1)).toMatchObject({ type: 'turn_settled', covers });
});

test('an unknown record becomes an event without changes', () => {
  const raw = { type: 'hologram', beam: 7 };
  const log = new TestLog().fact({ type: 'unknown', raw }).delta({ type: 'unknown', raw });
  expect(eventsOf(allOf(log.records)).slice(1)).toMatchObject([
    { type: 'unknown', raw },
    { type: 'unknown', raw },
  ]);
});
