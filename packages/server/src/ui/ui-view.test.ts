import { createAgent, defineTool, subAgent } from '@millrace/agent';
import {
  countingIds,
  Folder,
  type FoldState,
  type JsonObject,
  type LogRecord,
  type Part,
  parseJson,
  settleTurn,
  toArray,
  toolCallId,
  toolCallPart,
  runId as toRunId,
} from '@millrace/core';
import { encodeChunk, uiHeaders } from '@millrace/core/streams';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { UI_MESSAGE_STREAM_HEADERS, type UIMessage } from 'ai';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  session as planned,
  runSchedule,
  schedules,
} from '../../../agent/src/testing/schedules.ts';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { hasSharedRecordings } from '../../../providers/src/testing/recordings.ts';
import { readFrames, shownByUi, uiFramesOf } from '../testing/ai-sdk-client.ts';
import { type RecordedLog, recordedLogs } from '../testing/recorded-logs.ts';
import { RecordBuilder, recordUpdates } from '../testing/recorded-updates.ts';
import { comparable, isValid, messagesOf, streamed } from '../testing/stored-messages.ts';
import { UpdateWriter } from '../updates/update-writer.ts';
import { uiView } from './ui-view.ts';

/** Text, reasoning and tools of a UI message, in order. */
function contentOf(message: UIMessage | undefined): readonly unknown[] {
  return (message?.parts ?? []).flatMap((part): readonly unknown[] => {
    if (part.type === 'text' || part.type === 'reasoning') return [[part.type, part.text]];
    if (part.type === 'steering-message') return [[part.type, part.id]];
    if (!part.type.startsWith('tool-') || !('toolCallId' in part)) return [];
    const { toolCallId, input, output, errorText } = part as Record<string, unknown>;
    return [[part.type, toolCallId, input, output ?? null, errorText ?? null]];
  });
}

/** Returns the same parts for the last run of a log, computed from the transcript alone. */
function transcriptContent(state: FoldState): readonly unknown[] {
  const items = toArray(state.items);
  const run = items.at(-1)?.run;
  const ours = items.filter((item) => item.run === run);
  const results = new Map(
    ours.flatMap(({ parts }) =>
      parts.flatMap(({ part }) =>
        part?.kind === 'tool_result' ? [[part.toolCallId, part] as const] : [],
      ),
    ),
  );
  const firstAnswer = ours.map(({ kind }) => kind).indexOf('assistant');
  return ours.flatMap((item, at) => {
    if (item.kind === 'user')
      return at > firstAnswer && firstAnswer >= 0 ? [['steering-message', item.id]] : [];
    if (item.kind !== 'assistant') return [];
    return item.parts.flatMap(({ part }): readonly unknown[] => {
      if (part?.kind === 'text' || part?.kind === 'reasoning') return [[part.kind, part.text]];
      return part?.kind === 'tool_call' ? [toolEntry(part, results.get(part.toolCallId))] : [];
    });
  });
}

function toolEntry(
  { toolCallId, name, input, arguments: text }: Extract<Part, { kind: 'tool_call' }>,
  result: Extract<Part, { kind: 'tool_result' }> | undefined,
) {
  const wrong = 'The arguments are not JSON, or were cut off';
  const failed = result?.isError ? result.text : input === undefined && !result ? wrong : null;
  const output = result && !result.isError ? (result.value ?? result.text) : null;
  return [`tool-${name}`, toolCallId, readable(input ?? text), output, failed];
}

/** The SDK rejects documents with this key, so it is removed. */
const readable = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, held) => (key === '__proto__' ? undefined : held));

const stateOf = ({ session, records }: Pick<RecordedLog, 'session' | 'records'>, at?: number) => {
  const folder = new Folder(session);
  const through = at ?? records.length;
  folder.addBatch({ after: 0, through, records: records.slice(0, through) });
  return folder.state;
};

const allFrames = ({ session, records }: RecordedLog) =>
  uiFramesOf(session, records).flatMap(({ frames }) => frames);

/** Returns the message of a client that connects after the given number of records. */
function resumed(log: RecordedLog, at: number, frames = uiFramesOf(log.session, log.records)) {
  const tail = frames.filter(({ offset }) => offset > at);
  return shownByUi([...uiView.restate(stateOf(log, at)), ...tail.flatMap(({ frames }) => frames)]);
}

/** Offsets at which a run is active and can be resumed. */
function cutsIn({ session, records }: RecordedLog): readonly number[] {
  const folder = new Folder(session);
  return records.flatMap((record) => {
    folder.add(record);
    return folder.state.run === undefined ? [] : record.offset;
  });
}

const cutsPerLog = isFull ? 6 : 2;

if (!hasSharedRecordings) console.log('no ../shared/recordings: only our own fixtures are read');

describe('the AI SDK’s own reader', () => {
  test('shows every recording as in the transcript', async () => {
    for (const log of await recordedLogs()) {
      const { message, errors } = await shownByUi(allFrames(log));
      expect(contentOf(message), log.name).toEqual(transcriptContent(stateOf(log)));
      const stop = log.records.at(-1)?.fact;
      const hasFailed = stop?.type === 'run_finished' && stop.stop.reason === 'error';
      expect(errors, log.name).toHaveLength(hasFailed ? 1 : 0);
    }
  });

  test('20.F3: shows every recording as the messages of the stored session', async () => {
    for (const log of await recordedLogs()) {
      const messages = messagesOf(log);
      expect(comparable(messages), log.name).toEqual(comparable(await streamed(log)));
      expect(await isValid(messages), log.name).toBe(true);
    }
  });

  test('shows the same if it connects at any record of a recording', async () => {
    for (const log of await recordedLogs()) {
      const { message } = await shownByUi(allFrames(log));
      const cuts = cutsIn(log);
      const every = Math.max(1, Math.ceil(cuts.length / cutsPerLog));
      const frames = uiFramesOf(log.session, log.records);
      for (const at of cuts.filter((_cut, position) => position % every === 0)) {
        const { message: again } = await resumed(log, at, frames);
        expect(comparableParts(again), `${log.name} at ${at}`).toEqual(comparableParts(message));
      }
    }
  });

  test('law 5: shows the same for any run with retries, aborts and approvals, wherever it connects', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.nat(), async (plan, at) => {
        const { records } = await runSchedule(plan);
        const log = { name: 'planned', session: planned, records };
        const { message } = await shownByUi(allFrames(log));
        expect(contentOf(message)).toEqual(transcriptContent(stateOf(log)));
        const cuts = cutsIn(log);
        const cut = cuts[at % cuts.length];
        if (cut === undefined) return;
        expect(comparableParts((await resumed(log, cut)).message)).toEqual(
          comparableParts(message),
        );
      }),
      { numRuns: runs(300) },
    );
  });

  test('20.4: shows the question of a sub-agent while it is pending, wherever it connects', async () => {
    const log = memoryLog();
    const make = defineTool({
      ...{ name: 'refund', description: 'Refunds', input: z.object({ amount: z.number() }) },
      execute: async () => 'Refunded.',
    });
    const asking = toolCallPart(toolCallId('r'), 'refund', { amount: 5 });
    const desk = createAgent({
      provider: scriptedProvider([{ content: { parts: [asking] } }, 'I did it.']),
      ...{ name: 'desk', tools: [make], log, approve: () => 'ask' as const },
    });
    const task = toolCallPart(toolCallId('t'), 'help', { task: 'Refund it' });
    const agent = createAgent({
      provider: scriptedProvider([{ content: { parts: ['I ask.', task] } }, 'Done.']),
      tools: [subAgent({ name: 'help', description: 'Helps', agent: desk })],
      log,
    });
    const run = agent.run('Go', { session: planned });
    let asked = 0;
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      asked = event.offset;
      await run.approve(event.toolCallId);
    }
    const { records } = await log.read(planned);
    const recorded = { name: 'sub-agent', session: planned, records };
    const until = uiFramesOf(planned, records).filter(({ offset }) => offset <= asked);
    const { message: waiting } = await shownByUi(until.flatMap(({ frames }) => frames));
    expect(waiting?.parts.at(-1)).toMatchObject({
      ...{ type: 'tool-refund', state: 'approval-requested', input: { amount: 5 } },
    });
    const { message } = await shownByUi(allFrames(recorded));
    expect(contentOf(message)).toEqual(transcriptContent(stateOf(recorded)));
    for (const cut of cutsIn(recorded).filter((_cut, at) => at % 5 === 0))
      expect(comparableParts((await resumed(recorded, cut)).message)).toEqual(
        comparableParts(message),
      );
  });

  test('shows the same if earlier turns were settled', async () => {
    for (const log of await recordedLogs()) {
      const { message } = await shownByUi(allFrames(log));
      const state = stateOf(log);
      const turns = new Set(log.records.map(({ turn }) => turn));
      const records = [...turns].reduce<readonly LogRecord[]>(
        (some, turn) => settleTurn(some, turn, state),
        log.records,
      );
      const short = await shownByUi(allFrames({ ...log, records }));
      expect(contentOf(short.message), log.name).toEqual(contentOf(message));
    }
  });
});

/** Removes approvals, which are not part of the content, and empty steps. */
function comparableParts(message: UIMessage | undefined): unknown {
  const parts = message?.parts ?? [];
  const isEmptyStep = (at: number) =>
    parts[at]?.type === 'step-start' && (parts[at + 1]?.type ?? 'step-start') === 'step-start';
  return parts.flatMap((part, at) => (isEmptyStep(at) ? [] : { ...part, approval: undefined }));
}

describe('frames', () => {
  const log = async (name: string) => {
    const found = (await recordedLogs()).find((one) => one.name === name);
    return found ?? expect.fail(`there is no ${name}`);
  };
  const chunks = async (name: string) =>
    allFrames(await log(name)).map(({ data }) =>
      data === '[DONE]' ? { type: data } : JSON.parse(data),
    );

  test('of a run with a tool are one message with a step per turn, and an end', async () => {
    const types = (await chunks('tool')).map(({ type }) => type);
    expect(types.filter((type) => !/delta|progress/.test(type))).toEqual([
      ...['start', 'start-step', 'text-start', 'text-end', 'tool-input-start'],
      ...['tool-input-available', 'tool-output-available', 'finish-step'],
      ...['start-step', 'text-start', 'text-end', 'finish-step', 'finish', '[DONE]'],
    ]);
  });

  test('of a superseded attempt reset the step, so that the answer appears once', async () => {
    const types = (await chunks('error and retry')).map(({ type }) => type);
    expect(types.filter((type) => type === 'start-step' || type === 'reset-step')).toEqual([
      'start-step',
      'reset-step',
    ]);
    const { message } = await shownByUi(allFrames(await log('error and retry')));
    expect(contentOf(message)).toEqual([['text', 'A whole answer.']]);
  });

  test('of an aborted run keep the text and end with an abort chunk', async () => {
    expect((await chunks('abort in text')).slice(-3)).toEqual([
      { type: 'abort' },
      { type: 'finish', finishReason: 'interrupted' },
      { type: '[DONE]' },
    ]);
  });

  test('ask for an approval by the id of the call', async () => {
    expect(await chunks('approval')).toContainEqual({
      ...{ type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'c1' },
    });
  });

  test('report the answer to an approval', async () => {
    expect(await chunks('approval')).toContainEqual({
      ...{ type: 'tool-approval-response', approvalId: 'c1', approved: true },
    });
  });

  test('repeat a pending approval for a client that reconnects', async () => {
    const found = await log('approval');
    const asked = found.records.find(({ fact }) => fact?.type === 'approval_asked');
    const request = { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'c1' };
    const restated = (through: number) =>
      uiView.restate(stateOf(found, through)).map(({ data }) => JSON.parse(data));
    expect(restated(asked?.offset ?? 0).at(-1)).toEqual(request);
    const answered = found.records.find(({ fact }) => fact?.type === 'approval_answered');
    expect(restated(answered?.offset ?? 0)).not.toContainEqual(request);
  });

  test('of a tool’s progress are transient', async () => {
    expect(await chunks('tool')).toContainEqual({
      type: 'data-tool-progress',
      data: { toolCallId: 'c1', text: 'writing one' },
      transient: true,
    });
  });

  test('have unique ids, and none in a restatement', async () => {
    const ids = allFrames(await log('tool')).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const state = stateOf(await log('tool'), 12);
    expect(uiView.restate(state).every(({ id }) => id === undefined)).toBe(true);
  });

  test('are empty if no run is active', () => {
    const { records, state } = recordUpdates([
      { type: 'delta', index: 0, delta: { text_delta: 'x' } },
    ]);
    expect(uiFramesOf(state.session, records).flatMap(({ frames }) => frames)).toEqual([]);
    expect(uiView.restate(state)).toEqual([]);
  });
});

test('an answer from updates is shown as one message: data, reasoning, and a result without its call', async () => {
  const builder = new RecordBuilder();
  const outside = { turn: 0, attempt: 0 };
  const runId = toRunId('run');
  const writer = new UpdateWriter({ turn: 1, attempt: 1, ids: countingIds() });
  const delta = (index: number, given: object) =>
    writer.write({ type: 'delta', index, delta: given });
  builder.add([{ ...outside, fact: { type: 'run_started', runId } }]);
  builder.add(delta(0, { summary_index: 0, summary_delta: 'A plan' }));
  builder.add(delta(1, { text_delta: 'Hello' }));
  builder.add(delta(2, { data_delta: '{"a":' }));
  builder.add(delta(2, { data_delta: '1}' }));
  builder.add(delta(3, { tool_call_id: 'c', name: 'read', content_delta: 'found' }));
  builder.add(writer.end());
  const stop = { reason: 'stop' } as const;
  builder.add([{ ...outside, fact: { type: 'run_finished', runId, stop } }]);
  const { records, state } = builder;
  const log = { name: 'updates', session: state.session, records };
  const { message } = await shownByUi(allFrames(log));
  expect(contentOf(message)).toEqual([
    ['reasoning', 'A plan'],
    ['text', 'Hello'],
    ['tool-read', 'c', {}, 'found', null],
  ]);
  expect(message?.parts).toContainEqual(
    expect.objectContaining({ type: 'data-structured', data: { a: 1 } }),
  );
  for (const at of cutsIn(log)) {
    const { message: again } = await resumed(log, at);
    expect(contentOf(again), `at ${at}`).toEqual(contentOf(message));
  }
});

test('the headers equal those of the SDK, except for connection headers', () => {
  const { connection: _hop, ...others } = UI_MESSAGE_STREAM_HEADERS;
  expect(uiHeaders).toEqual(others);
});

const keys = fc.constantFrom('__proto__', 'constructor', 'prototype', 'a', '"__proto__":');
const { tree } = fc.letrec<{ tree: string; leaf: string; node: string }>((tie) => ({
  tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('node')),
  leaf: fc.constantFrom('1', '"__proto__"', '[]', '{"prototype":1}'),
  node: fc
    .array(fc.tuple(keys, tie('tree')), { maxLength: 3 })
    .map(
      (entries) => `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join()}}`,
    ),
}));

test('the SDK’s transport accepts values with any keys', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (text) => {
      const parsed = parseJson(text);
      const data = (parsed.ok ? parsed.value : null) as JsonObject;
      const stream = await readFrames([{ data: encodeChunk({ type: 'data-x', data }) }]);
      const chunks = [];
      for await (const chunk of stream ?? []) chunks.push(chunk);
      expect(chunks).toHaveLength(1);
    }),
    { numRuns: runs(300) },
  );
});

test('a value without such keys is unchanged', () => {
  const data = { constructor: 'a builder', list: [{ proto: null }] };
  expect(JSON.parse(encodeChunk({ type: 'data-x', data }))).toEqual({ type: 'data-x', data });
});
