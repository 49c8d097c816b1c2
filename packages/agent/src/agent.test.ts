import {
  type AgentEvent,
  countingIds,
  type Item,
  itemId,
  type LogRecord,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import {
  type ScriptEntry,
  type ScriptedOptions,
  scriptedProvider,
} from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Run } from './contract/run.ts';
import { type AgentOptions, createAgent } from './create-agent.ts';
import { findLogProblems } from './testing/check-log.ts';
import { call } from './testing/model-script.ts';
import { flushPendingWork, runToEnd, VirtualClock } from './testing/virtual-time.ts';
import { defineTool } from './tool/define-tool.ts';

const read = defineTool({
  name: 'read',
  description: 'Reads a file',
  input: z.object({ path: z.string() }),
  execute: async ({ path }) => `the contents of ${path}`,
});

function agentOf(
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
  how: ScriptedOptions = {},
) {
  const clock = new VirtualClock();
  const log = options.log ?? memoryLog({ clock });
  const provider = scriptedProvider(script, { clock, pieces: 'token', ...how });
  const records: LogRecord[] = [];
  const agent = createAgent({
    provider,
    log,
    clock,
    ids: countingIds(),
    random: () => 1,
    tools: [read],
    observers: [(record) => records.push(record)],
    ...options,
  });
  const until = async (type: string) => {
    while (!records.some(({ fact, delta }) => (fact ?? delta)?.type === type)) {
      await flushPendingWork();
      clock.advance(10);
    }
  };
  return {
    agent,
    clock,
    log,
    provider,
    records,
    until,
    end: (run: Run) => runToEnd(clock, run.result),
  };
}

async function eventsOf(run: Run): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

const types = (records: readonly LogRecord[]) =>
  records.map(({ fact, delta }) => (fact ?? delta)?.type);
const textOf = (item: Item | undefined) =>
  (item?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('');

describe('a run', () => {
  test('takes one line for simple things', async () => {
    const { agent, end } = agentOf(['It rains.']);
    const { text, stop } = await end(agent.run('The weather?'));
    expect([text, stop]).toEqual(['It rains.', { reason: 'stop' }]);
  });

  test('emits the events of seed 004 in order, with one request per turn', async () => {
    const first = [
      'Let me check the configuration file first.',
      call('c', 'read', { path: 'src/config.ts' }),
    ];
    const { agent, end, provider } = agentOf([{ content: { parts: first } }, 'It is fine.']);
    const run = agent.run('Look at the configuration');
    const [, events] = [await end(run), await eventsOf(run)];
    const named = new Set([
      'assistant_text_delta',
      'tool_call_started',
      'tool_call_arguments_delta',
      'tool_call_ready',
      'tool_execution_started',
      'tool_execution_finished',
      'turn_finished',
    ]);
    const told = events.filter(({ type, turn }) => named.has(type) && turn === 1);
    const inOrder = told.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    expect(inOrder).toEqual([...named]);
    expect(told.at(-1)).toMatchObject({ stop: { reason: 'tool_use' } });
    const text = told.flatMap((event) => (event.type === 'assistant_text_delta' ? event.text : []));
    expect(text.join('')).toBe(first[0]);
    expect(told.at(-1)).toMatchObject({
      message: { parts: [{ text: first[0] }, { name: 'read' }] },
    });
    provider.assertUsedUp();
  });

  test('has events for any number of readers, from its first record on, however late', async () => {
    const { agent, end } = agentOf(['One two three four five.']);
    const run = agent.run('Count');
    const early = eventsOf(run);
    await end(run);
    const textIn = (events: readonly AgentEvent[]) =>
      events.map((event) => (event.type === 'assistant_text_delta' ? event.text : '')).join('');
    for (const events of [await early, await eventsOf(run), await eventsOf(run)]) {
      expect(events[0]?.type).toBe('run_started');
      expect(events.at(-1)?.type).toBe('run_finished');
      expect(textIn(events)).toBe('One two three four five.');
    }
  });

  test('accepts the caller’s own history, and sends the same request as from a session', async () => {
    const session = sessionId('s');
    const kept = agentOf(['First.', 'Second.']);
    await kept.end(kept.agent.run('One', { session }));
    await kept.end(kept.agent.run('Two', { session }));
    const bare = agentOf(['Second.']);
    const words = (id: string, kind: Item['kind'], text: string): Item => ({
      ...{ id: itemId(id), kind },
      parts: [{ kind: 'text', text }],
    });
    const history = [
      words('u1', 'user', 'One'),
      words('a1', 'assistant', 'First.'),
      words('u2', 'user', 'Two'),
    ];
    const { text, items } = await bare.end(bare.agent.run(history));
    expect([text, items.length]).toEqual(['Second.', 1]);
    const sent = (all: typeof kept.provider.requests) =>
      all.at(-1)?.request.items.map(({ kind, parts }) => ({ kind, parts }));
    expect(sent(bare.provider.requests)).toEqual(sent(kept.provider.requests));
  });

  test('fails with an error, and changes nothing, if another run drives the session', async () => {
    const { agent, end, log } = agentOf(['No.']);
    const session = sessionId('s');
    await log.open(session, { holder: 'somebody else' });
    const { stop, error } = await end(agent.run('Hello', { session }));
    expect(stop).toEqual({ reason: 'error', cause: 'held' });
    expect(error?.message).toContain('somebody else');
    expect((await log.info(session))?.through).toBe(0);
  });
});

describe('calls', () => {
  test('run in parallel, with results in call order', async () => {
    const ended: string[] = [];
    const { agent, end, clock } = agentOf([], {});
    const slow = defineTool({
      name: 'wait',
      description: 'Waits',
      input: z.object({ ms: z.number() }),
      execute: async ({ ms }) => {
        await new Promise<void>((resolve) => void clock.after(ms, resolve));
        ended.push(`${ms}`);
        return `${ms}`;
      },
    });
    const parts = [300, 100, 200].map((ms) => call(`c${ms}`, 'wait', { ms }));
    const provider = scriptedProvider([{ content: { parts } }, 'Done.'], { clock });
    const own = createAgent({ provider, clock, tools: [slow], log: memoryLog({ clock }) });
    const { items } = await end(own.run('Go'));
    expect(ended).toEqual(['100', '200', '300']);
    expect(items[1]?.parts.map((part) => 'text' in part && part.text)).toEqual([
      '300',
      '100',
      '200',
    ]);
    expect(agent).toBeDefined();
  });

  test('without effects start while the response streams; others wait for its end', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', effects: 'none' as const },
      input: z.object({}),
      execute: async () => 'seen',
    });
    const parts = [call('l', 'look', {}), call('r', 'read', { path: 'a' }), 'And that is it.'];
    const { agent, end, records } = agentOf(
      [{ content: { parts }, stop: 'tool_use' }, 'Done.'],
      {
        tools: [look, read],
      },
      { pauseMs: 10 },
    );
    await end(agent.run('Look'));
    const started = (id: string) =>
      records.findIndex(
        ({ fact }) => fact?.type === 'tool_execution_started' && fact.toolCallId === id,
      );
    const finished = records.findIndex(({ fact }) => fact?.type === 'response_finished');
    expect(started('l')).toBeLessThan(finished);
    expect(started('r')).toBeGreaterThan(finished);
  });

  test('that are cut off by the model’s limit do not run, and get a result', async () => {
    let ran = 0;
    const count = defineTool({
      ...{ name: 'count', description: 'Counts', input: z.object({}) },
      execute: async () => `${++ran}`,
    });
    const script = [{ content: { parts: [call('c', 'count', {})] }, stop: 'length' as const }];
    const { agent, end } = agentOf(script, { tools: [count] });
    const { stop, items } = await end(agent.run('Count'));
    expect([ran, stop.reason]).toEqual([0, 'length']);
    expect(items[1]?.parts).toMatchObject([{ kind: 'tool_result', isError: true }]);
  });

  test('with long output are clipped, and the full output is stored', async () => {
    const long = defineTool({
      ...{ name: 'long', description: 'Long', input: z.object({}), maxOutputLength: 100 },
      execute: async () => 'x'.repeat(5000),
    });
    const script = [{ content: { parts: [call('c', 'long', {})] } }, 'Well.'];
    const { agent, end, log } = agentOf(script, { tools: [long] });
    const { items } = await end(agent.run('Go'));
    const [part] = items[1]?.parts ?? [];
    if (part?.kind !== 'tool_result') return expect.fail('there is no result');
    expect(part.text.length).toBeLessThan(300);
    const [whole] = part.attachments ?? [];
    if (whole?.source.type !== 'blob') return expect.fail('the whole is not kept');
    expect((await log.blobs.slice(whole.source.hash, 10, 15))?.length).toBe(5);
    expect((await log.blobs.get(whole.source.hash))?.length).toBe(5000);
  });

  test('are retried only if the tool declares it, each time as a new execution', async () => {
    let tries = 0;
    const flaky = defineTool({
      ...{ name: 'flaky', description: 'Fails twice', input: z.object({}), retries: 2 },
      execute: async () => {
        if (++tries < 3) throw new Error('not yet');
        return 'at last';
      },
    });
    const { agent, end, records } = agentOf(
      [{ content: { parts: [call('c', 'flaky', {})] } }, 'Ok.'],
      {
        tools: [flaky],
      },
    );
    const { items } = await end(agent.run('Go'));
    expect(items[1]?.parts).toMatchObject([{ text: 'at last', isError: false }]);
    expect(types(records).filter((type) => type === 'tool_execution_started')).toHaveLength(3);
  });
});

describe('an abort', () => {
  test('during text keeps the partial answer, and the session can continue', async () => {
    const { agent, end, until, records, log, provider } = agentOf(
      ['A long answer that nobody will hear to its end.', 'Welcome back.'],
      {},
      { pauseMs: 100 },
    );
    const session = sessionId('s');
    const run = agent.run('Speak', { session });
    await until('append_text');
    await run.abort('enough');
    const { stop, text, usage } = await end(run);
    expect(stop.reason).toBe('aborted');
    expect('A long answer that nobody will hear to its end.'.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(0);
    expect(usage.output).toBeGreaterThan(0);
    const told = types(records);
    expect(told.indexOf('aborted')).toBeLessThan(told.indexOf('response_finished'));
    const next = await end(agent.run('And now?', { session }));
    expect(next.text).toBe('Welcome back.');
    const sent = provider.requests[1]?.request.items.map(textOf);
    expect(sent).toEqual(['Speak', text, 'And now?']);
    expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
  });

  test('during a tool stops it, waits for it, and answers its call', async () => {
    let stopped = false;
    const forever = defineTool({
      ...{ name: 'forever', description: 'Never ends', input: z.object({}) },
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            stopped = true;
            reject(new Error('stopped'));
          }),
        ),
    });
    const { agent, end, until } = agentOf([{ content: { parts: [call('c', 'forever', {})] } }], {
      tools: [forever],
    });
    const run = agent.run('Go');
    await until('tool_execution_started');
    await run.abort();
    const { stop, items } = await end(run);
    expect([stop.reason, stopped]).toEqual(['aborted', true]);
    expect(items[1]?.parts).toMatchObject([{ kind: 'tool_result', isError: true }]);
  });

  test('by the caller’s signal has the same effect, and none after the end of the run', async () => {
    const { agent, end, log } = agentOf(['Done.']);
    const controller = new AbortController();
    const run = agent.run('Go', { signal: controller.signal });
    expect((await end(run)).stop.reason).toBe('stop');
    controller.abort();
    await run.abort();
    expect((await log.info(run.session))?.hasWork).toBe(false);
    await expect(run.steer('more')).rejects.toMatchObject({ code: 'run_over' });
  });
});

describe('a request that fails', () => {
  test('is retried, and the output of the first attempt is retracted', async () => {
    const fault = { type: 'error', after: 3, error: 'overloaded' } as const;
    const { agent, end, records } = agentOf([
      { content: { parts: ['Half an ans'] }, fault },
      'A whole answer.',
    ]);
    const { text, items, usage } = await end(agent.run('Go'));
    expect([text, items.length]).toEqual(['A whole answer.', 1]);
    expect(types(records)).toEqual(
      expect.arrayContaining(['attempt_superseded', 'retry_scheduled']),
    );
    expect(usage.output).toBeGreaterThan(4);
  });

  test('permanently keeps the partial answer and reports the error', async () => {
    const fault = { type: 'error', after: 3, error: 'auth' } as const;
    const { agent, end } = agentOf([{ content: { parts: ['Half an ans'] }, fault }]);
    const { text, stop } = await end(agent.run('Go'));
    expect(stop).toEqual({ reason: 'error', cause: 'auth' });
    expect(text.length).toBeGreaterThan(0);
  });

  test('too often falls back to the next provider', async () => {
    const fault = { type: 'error', after: 0, error: 'overloaded' } as const;
    const failing = { content: { parts: ['never'] }, fault };
    const fallback = scriptedProvider(['From the other one.'], { id: 'other' });
    const { agent, end, provider } = agentOf([failing, failing], {
      fallbacks: [fallback],
      retry: { maxAttempts: 2 },
    });
    expect((await end(agent.run('Go'))).text).toBe('From the other one.');
    provider.assertUsedUp();
  });
});

describe('an approval', () => {
  const asking: Partial<AgentOptions> = { approve: () => 'ask' };
  const script = [{ content: { parts: [call('c', 'read', { path: 'a' })] } }, 'Done.'];

  test('is requested, and the call runs with the approved input', async () => {
    const { agent, end, until, records } = agentOf(script, asking);
    const run = agent.run('Read');
    await until('approval_asked');
    expect(types(records)).not.toContain('tool_execution_started');
    await run.approve(toolCallId('c'), { input: { path: 'b' }, by: 'ada' });
    const { items } = await end(run);
    expect(items[1]?.parts).toMatchObject([{ text: 'the contents of b' }]);
  });

  test('that is denied is reported to the model with the reason', async () => {
    const { agent, end, until } = agentOf(script, asking);
    const run = agent.run('Read');
    await until('approval_asked');
    await run.deny(toolCallId('c'), { reason: 'not that one' });
    const { items, text } = await end(run);
    expect(text).toBe('Done.');
    expect(items[1]?.parts).toMatchObject([
      { isError: true, text: 'It was not allowed: not that one' },
    ]);
  });

  test('parks the run with whileAsking: park, and works after a resume', async () => {
    const session = sessionId('s');
    const first = agentOf(script.slice(0, 1), { ...asking, whileAsking: 'park' });
    const { stop } = await first.end(first.agent.run('Read', { session }));
    expect(stop).toEqual({ reason: 'parked', cause: 'approval' });
    const { log } = first;
    expect((await log.list({ isWaiting: true })).map((one) => one.session)).toEqual([session]);
    await log.submit(session, { type: 'approve', toolCallId: 'c' }, 'from elsewhere');
    const second = agentOf(script.slice(1), {
      ...asking,
      log,
      whileAsking: 'park',
      ids: lateIds(),
    });
    const { text, stop: done } = await second.end(second.agent.resume(session));
    expect([text, done.reason]).toEqual(['Done.', 'stop']);
    expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
  });
});

/** Ids that do not overlap with those of other agents. */
function lateIds() {
  const ids = countingIds();
  for (let used = 0; used < 1000; used++) {
    ids.item();
    ids.part(0, 0);
    ids.execution();
    ids.run();
  }
  return ids;
}

describe('input during a run', () => {
  test('steers the next request, after the tool results', async () => {
    const { agent, end, until, provider } = agentOf([
      { content: { parts: [call('c', 'read', { path: 'a' })] }, pauseMs: 50 },
      'I go left.',
    ]);
    const run = agent.run('Go');
    await until('turn_started');
    await run.steer('Turn left');
    expect((await end(run)).text).toBe('I go left.');
    const kinds = provider.requests[1]?.request.items.map(({ kind }) => kind);
    expect(kinds).toEqual(['user', 'assistant', 'tool', 'user']);
  });

  test('follows up when the run would end', async () => {
    const { agent, end, until } = agentOf(['One.', 'Two.'], {}, { pauseMs: 50 });
    const run = agent.run('Go');
    await until('turn_started');
    await run.followUp('And then?');
    const { items } = await end(run);
    expect(items.map(textOf)).toEqual(['One.', 'And then?', 'Two.']);
  });
});

describe('a limit', () => {
  const again = { content: { parts: [call('c', 'read', { path: 'a' })] } };

  test.each([
    [{ maxTurns: 2 }, '2 turns'],
    [{ maxRepeats: 3 }, 'the same call 3 times'],
    [{ maxTokens: 10 }, '10 tokens'],
  ])('of %o ends the run and is named in the stop', async (limits, cause) => {
    const script = Array.from({ length: 9 }, (_, index) => ({
      ...again,
      content: { parts: [call(`c${index}`, 'read', { path: 'a' })] },
    }));
    const { agent, end } = agentOf(script, { limits });
    expect((await end(agent.run('Go'))).stop).toEqual({ reason: 'limit', cause });
  });
});

test('observers in any order receive the same sequence, and one that throws has no effect', async () => {
  const seen: LogRecord[][] = [[], []];
  const problems: string[] = [];
  const { agent, end } = agentOf(
    [{ content: { parts: ['Hi ', call('c', 'read', { path: 'a' })] } }, 'Bye.'],
    {
      observers: [
        (record) => seen[0]?.push(record),
        () => {
          throw new Error('I am broken');
        },
        (record) => seen[1]?.push(record),
      ],
      onDiagnostic: (problem) => problems.push(problem),
    },
  );
  await end(agent.run('Go'));
  expect(seen[0]?.length).toBeGreaterThan(10);
  expect(seen[1]).toEqual(seen[0]);
  expect(problems).toHaveLength(1);
});
