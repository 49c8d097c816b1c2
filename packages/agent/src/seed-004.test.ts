import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentEvent,
  countingIds,
  type Item,
  sessionId,
  toolCallId,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import {
  type ScriptEntry,
  type ScriptedResponse,
  scriptedProvider,
} from '@millrace/providers/scripted';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../core/src/testing/runs.ts';
import { type AgentOptions, createAgent } from './create-agent.ts';
import { call } from './testing/model-script.ts';
import { eventsOf, textOfEvents } from './testing/read-log.ts';
import { flushPendingWork, runToEnd, VirtualClock } from './testing/virtual-time.ts';
import { defineTool } from './tool/define-tool.ts';
import { joinText } from './views/run-views.ts';

const session = sessionId('s');

const read = defineTool({
  name: 'read',
  description: 'Reads a file',
  input: z.object({ path: z.string() }),
  execute: async ({ path }) => `the contents of ${path}`,
});

/** Runs on a virtual clock, and collects what an observer and a slow reader receive. */
async function perform(script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}) {
  const clock = options.clock instanceof VirtualClock ? options.clock : new VirtualClock();
  const provider = scriptedProvider(script, { clock });
  const events: AgentEvent[] = [];
  const agent = createAgent({
    ...{ provider, clock, log: memoryLog({ clock }), ids: countingIds(), tools: [read] },
    observers: [(_record, told) => events.push(...told)],
    ...options,
  });
  const run = agent.run('Begin');
  const reading = eventsOf(run);
  const result = await runToEnd(clock, run.result);
  return { result, events, read: await reading, provider };
}

const only = <T extends AgentEvent['type']>(events: readonly AgentEvent[], ...types: T[]) =>
  events.filter((event): event is Extract<AgentEvent, { type: T }> =>
    types.some((type) => type === event.type),
  );

describe('text deltas and the final message are consistent', () => {
  const texts = fc.string({ unit: 'binary', maxLength: 30 });
  const pieces = fc.oneof(
    fc.constantFrom('character' as const, 'token' as const, 'whole' as const),
    fc.record({ seed: fc.nat() }),
  );

  test('in every turn, for any text in any pieces, with calls between', async () => {
    const turns = fc.array(fc.tuple(texts, texts), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(turns, pieces, async (said, how) => {
        const script = said.map(([one, other], index): ScriptedResponse => {
          const asks = call(`c${index}`, 'read', { path: one });
          const isLast = index === said.length - 1;
          return { content: { parts: [one, ...(isLast ? [] : [asks]), other] }, pieces: how };
        });
        const {
          events,
          read: late,
          result,
        } = await perform(script, { limits: { maxRepeats: 99 } });
        const ends = only(events, 'turn_finished');
        const finals = ends.map(({ message }) => joinText(message?.parts ?? []));
        expect(finals).toEqual(
          said.map((both) => both.map((text) => text.toWellFormed()).join('')),
        );
        expect(ends.map(({ turn }) => textOfEvents(events, turn))).toEqual(finals);
        expect(ends.map(({ turn }) => textOfEvents(late, turn))).toEqual(finals);
        const messages = result.items.filter(({ kind }) => kind === 'assistant');
        expect(messages).toEqual(ends.map(({ message }) => message));
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('a tool is never executed before its arguments are complete', () => {
  test('a tool that may start early still waits until its call is complete', async () => {
    const clock = new VirtualClock();
    const started: unknown[] = [];
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', effects: 'none', input: z.unknown() },
      execute: async (input) => {
        started.push(input);
        return 'seen';
      },
    });
    // Each prefix of these arguments is valid JSON.
    const content = { parts: [call('c', 'look', '12345')] };
    const fault = { type: 'stall', after: 5 } as const;
    const provider = scriptedProvider([{ content, fault }], { clock });
    const run = createAgent({ provider, clock, log: memoryLog({ clock }), tools: [look] }).run(
      'Go',
    );
    let told = '';
    for await (const event of run.events) {
      if (event.type === 'tool_call_arguments_delta') told += event.delta;
      if (told === '1234') break;
    }
    await flushPendingWork();
    expect(started).toEqual([]);
    await run.abort();
    await runToEnd(clock, run.result);
    expect(started).toEqual([]);
  });

  test('the input equals the one in the ready event', async () => {
    const inputs: unknown[] = [];
    const events: AgentEvent[] = [];
    const readyAtStart: unknown[] = [];
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', effects: 'none', input: z.unknown() },
      execute: async (input) => {
        inputs.push(input);
        readyAtStart.push(...only(events, 'tool_call_ready').map((event) => event.input));
        return 'seen';
      },
    });
    const script = [{ content: { parts: [call('c', 'look', '12345')] } }, 'Done.'];
    const observers = [(_record: unknown, told: readonly AgentEvent[]) => events.push(...told)];
    await perform(script, { tools: [look], observers });
    expect([inputs, readyAtStart]).toEqual([[12_345], [12_345]]);
  });

  test.each([
    ['half of the JSON', '{"path":"src/con'],
    ['JSON and more', '{"path":"a"}}'],
    ['no JSON', 'src/config.ts'],
    ['nothing, where something is needed', ''],
    ['null', 'null'],
    ['a list', '["a"]'],
    ['another type', '{"path":7}'],
    ['another field', '{"file":"a"}'],
  ])('nor with %s: it is rejected, and the model gets an error', async (_what, given) => {
    let ran = 0;
    const counting = { ...read, execute: async () => `${++ran}` };
    const { events, result, provider } = await perform(
      [{ content: { parts: [call('c', 'read', given)] } }, 'Well.'],
      { tools: [counting] },
    );
    expect(ran).toBe(0);
    expect(only(events, 'tool_execution_started')).toEqual([]);
    expect(only(events, 'tool_call_rejected')).toMatchObject([
      { toolCallId: 'c', code: 'invalid' },
    ]);
    const answer = provider.requests[1]?.request.items.at(-1)?.parts;
    expect(answer).toMatchObject([{ kind: 'tool_result', toolCallId: 'c', isError: true }]);
    expect(result.text).toBe('Well.');
  });
});

describe('every tool execution has started and finished events', () => {
  const input = z.object({});
  const one = { description: 'A tool', input };

  test('however it ends, with ids that identify it', async () => {
    const clock = new VirtualClock();
    const tools = [
      defineTool({ ...one, name: 'works', execute: async () => 'ok' }),
      defineTool({
        ...one,
        name: 'throws',
        retries: 1,
        execute: () => Promise.reject(new Error('no')),
      }),
      defineTool({ ...one, name: 'never', timeoutMs: 50, execute: () => new Promise(() => {}) }),
    ];
    const parts = tools.map(({ name }) => call(name, name, {}));
    const { events } = await perform([{ content: { parts } }, 'Done.'], { clock, tools });
    const started = only(events, 'tool_execution_started');
    const finished = only(events, 'tool_execution_finished');
    const key = ({ toolCallId, executionId }: { toolCallId: string; executionId: string }) =>
      `${toolCallId} ${executionId}`;
    expect(started.map(key).sort()).toEqual(finished.map(key).sort());
    expect(new Set(started.map(key)).size).toBe(4);
    expect(finished.filter(({ isError }) => !isError).map(({ toolCallId }) => toolCallId)).toEqual([
      'works',
    ]);
    for (const end of finished)
      expect(started.find((begin) => key(begin) === key(end))?.offset).toBeLessThan(end.offset);
  });

  test('the progress of parallel executions is kept apart', async () => {
    const clock = new VirtualClock();
    const counts = defineTool({
      ...{ name: 'counts', description: 'Counts', input: z.object({ by: z.number() }) },
      async *execute({ by }) {
        for (let step = 1; step <= 3; step++) {
          await new Promise<void>((resolve) => void clock.after(by, resolve));
          yield `${step * by} `;
        }
        return 'done';
      },
    });
    const parts = [call('a', 'counts', { by: 10 }), call('b', 'counts', { by: 15 })];
    const { events } = await perform([{ content: { parts } }, 'Done.'], { clock, tools: [counts] });
    const updates = only(events, 'tool_execution_update');
    const of = (id: string) => updates.filter((event) => event.toolCallId === id);
    const texts = (id: string) =>
      of(id)
        .map(({ text }) => text)
        .join('');
    expect([texts('a'), texts('b')]).toEqual(['10 20 30 ', '15 30 45 ']);
  });
});

describe('after a user abort', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'seed-004-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('the session shows it to later readers, and nothing was thrown', async () => {
    const path = join(folder, 'log.db');
    const log = sqliteLog({ path });
    const fault = { type: 'stall', after: 3 } as const;
    const provider = scriptedProvider([{ content: { parts: ['Half an answer.'] }, fault }]);
    const run = createAgent({ provider, log }).run('Begin', { session });
    const events: AgentEvent[] = [];
    for await (const event of run.events) {
      events.push(event);
      if (event.type === 'assistant_text_delta' && textOfEvents(events) === 'Hal')
        await run.abort('enough');
    }
    const { stop } = await run.result;
    await log.close();
    expect(stop.reason).toBe('aborted');
    const ends = only(events, 'aborted', 'turn_finished', 'run_finished');
    expect(ends).toMatchObject([
      { type: 'aborted', reason: 'enough' },
      {
        type: 'turn_finished',
        stop: { reason: 'aborted' },
        message: { stop: { reason: 'aborted' } },
      },
      { type: 'run_finished', stop: { reason: 'aborted' } },
    ]);
    const reopened = sqliteLog({ path });
    const items = await transcriptOf(reopened);
    await reopened.close();
    expect(items.at(-1)).toMatchObject({
      kind: 'assistant',
      stop: { reason: 'aborted' },
      parts: [{ kind: 'text', text: 'Hal', partial: true }],
    });
  });
});

describe('the event order is stable', () => {
  const intro = 'Let me check the configuration file first.';
  const first = (text: readonly string[], given: readonly string[]): ScriptedResponse => ({
    content: {
      *write(writer) {
        const said = writer.text();
        for (const piece of text) {
          said.append(piece);
          yield;
        }
        said.commit();
        const asks = writer.toolCall(toolCallId('c'), 'read');
        for (const piece of given) {
          asks.append(piece);
          yield;
        }
        asks.commit();
      },
    },
  });

  function line(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'assistant_text_delta':
        return [`${event.type}: ${event.text}`];
      case 'tool_call_started':
      case 'tool_execution_started':
        return [`${event.type}: ${event.name}`];
      case 'tool_call_arguments_delta':
        return [`${event.type}: ${event.delta}`];
      case 'tool_call_ready':
        return [`${event.type}: ${event.name} ${JSON.stringify(event.input)}`];
      case 'tool_execution_finished':
        return [`${event.type}: ${event.name} ${event.isError}`];
      case 'turn_finished':
        return [`${event.type}: stopReason=${event.stop.reason}`];
      default:
        return [];
    }
  }

  test('as in the seed, line by line', async () => {
    const script = [first([intro], ['{"path":', '"src/config.ts"}']), 'It is fine.'];
    const { events } = await perform(script);
    expect(events.filter(({ turn }) => turn === 1).flatMap(line)).toEqual([
      `assistant_text_delta: ${intro}`,
      'tool_call_started: read',
      'tool_call_arguments_delta: {"path":',
      'tool_call_arguments_delta: "src/config.ts"}',
      'tool_call_ready: read {"path":"src/config.ts"}',
      'tool_execution_started: read',
      'tool_execution_finished: read false',
      'turn_finished: stopReason=tool_use',
    ]);
  });

  test('for any chunking by the provider', async () => {
    const isDelta = ({ type }: AgentEvent) => type.endsWith('_delta');
    const given = '{"path":"src/config.ts"}';
    const orderOf = async (pieces: ScriptedResponse['pieces']) => {
      const content = { parts: [intro, call('c', 'read', given)] };
      const { events } = await perform([
        { content, pieces },
        { content: { parts: ['Fine.'] }, pieces },
      ]);
      return events.filter((event) => !isDelta(event)).map(({ type }) => type);
    };
    const whole = await orderOf('whole');
    expect(whole.length).toBeGreaterThan(15);
    for (const seed of [1, 2, 3, 4, 5]) expect(await orderOf({ seed })).toEqual(whole);
    expect(await orderOf('character')).toEqual(whole);
  });
});

describe('both views come from one stream', () => {
  test('there is one request per attempt, for any number of readers', async () => {
    const clock = new VirtualClock();
    const fault = { type: 'error', after: 2, error: 'overloaded' } as const;
    const script = [
      { content: { parts: [call('c', 'read', { path: 'a' })] } },
      { content: { parts: ['Half'] }, fault },
      'Whole.',
    ];
    const provider = scriptedProvider(script, { clock });
    const run = createAgent({ provider, clock, log: memoryLog({ clock }), tools: [read] }).run(
      'Go',
    );
    const readers = [eventsOf(run), eventsOf(run), eventsOf(run)];
    await runToEnd(clock, Promise.all([run.result, run.result]));
    const [events = []] = await Promise.all([...readers, eventsOf(run)]);
    const asked = only(events, 'response_started').map(({ turn, attempt }) => [turn, attempt]);
    expect(asked).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
    ]);
    expect(
      provider.requests.map(({ context }) => [context.item.turn, context.item.attempt]),
    ).toEqual(asked);
    provider.assertUsedUp();
  });
});

describe('the history of several turns', () => {
  test('gives the same request on the wire from a session and from the caller’s own list', async () => {
    await using server = await startScriptedServer();
    const provider = openaiChat({ model: 'm', baseUrl: server.url, preset: 'compatible' });
    const asks = { id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
    server.answer({ text: 'I look.', toolCalls: [asks] });
    server.answer({ text: 'It is fine.' });
    server.answer({ text: 'You are welcome.' });
    const log = memoryLog();
    const agent = createAgent({ provider, log, tools: [read], instructions: 'Be brief.' });
    await agent.run('Look', { session }).result;
    const items = await transcriptOf(log);
    const { text } = await agent.run('Thank you', { session }).result;
    server.answer({ text: 'You are welcome.' });
    const thanks: Item = {
      ...(items[0] as Item),
      id: countingIds().item(),
      parts: [{ kind: 'text', text: 'Thank you' }],
    };
    const bare = await agent.run([...items, thanks]).result;
    expect([bare.text, bare.items.length]).toEqual([text, 1]);
    const [fromSession, fromList] = server.requests.slice(2).map(({ body }) => body);
    expect(fromList).toEqual(fromSession);
    expect(fromSession).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Look' },
        { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1' }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'the contents of a' },
        { role: 'assistant', content: 'It is fine.' },
        { role: 'user', content: 'Thank you' },
      ],
    });
    server.assertUsedUp();
  });
});

async function transcriptOf(log: Log): Promise<readonly Item[]> {
  return transcript(await snapshot(log, session));
}
