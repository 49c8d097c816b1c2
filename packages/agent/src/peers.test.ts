import {
  type AgentEvent,
  encodeEvent,
  type JsonObject,
  type LogRecord,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import {
  anthropic,
  createProvider,
  gemini,
  openaiChat,
  openaiResponses,
  type Provider,
} from '@millrace/providers';
import {
  frameSse,
  jsonReply,
  newGate,
  splitEvery,
  sseReply,
  streamReply,
} from '@millrace/providers/scripted-server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../../providers/src/testing/chat-events.ts';
import { usageObserver } from './observers/usage-observer.ts';
import { flood } from './testing/model-script.ts';
import { eventsOf, LogReader, textOfEvents } from './testing/read-log.ts';
import { withDelay, withMethods } from './testing/test-doubles.ts';
import { readUntilText, session, useTestServer } from './testing/test-server.ts';
import { flushPendingWork, runToEnd, VirtualClock } from './testing/virtual-time.ts';
import { defineTool } from './tool/define-tool.ts';
import { joinText } from './views/run-views.ts';

// Bugs that were found in other libraries, tested here with an agent, real sockets and real files.

const { url, reply, answer, requests, createAgent, twoLogs } = useTestServer();

const stalled = { type: 'stall' } as const;
const types = (events: readonly AgentEvent[]) => events.map(({ type }) => type);
const itemsIn = async (log: Log) => transcript(await snapshot(log, session));

describe('agentkit', () => {
  const key = { model: 'm', apiKey: 'nobody' };
  const wires: readonly [string, (url: string) => Provider][] = [
    ['openai-chat', (baseUrl) => openaiChat({ ...key, baseUrl })],
    ['openai-responses', (baseUrl) => openaiResponses({ ...key, baseUrl })],
    ['anthropic', (baseUrl) => anthropic({ ...key, baseUrl })],
    ['gemini', (baseUrl) => gemini({ ...key, baseUrl })],
  ];

  test.each(wires)(
    '%s: the stored text equals the streamed text, in every turn',
    async (_wire, providerOf) => {
      const asks = { id: 'call_1', name: 'read', arguments: '{"path":"ä"}' };
      answer({ text: 'Ich schaue nach.', toolCalls: [asks] }, { pieces: 3 });
      answer({ text: 'It’s fine 😀.' }, { pieces: 'characters' });
      const log = memoryLog();
      const run = createAgent({ provider: providerOf(url()), log }).run('Look', { session });
      const [events, { items }] = [await eventsOf(run), await run.result];
      const answers = items.filter(({ kind }) => kind === 'assistant');
      const said = ['Ich schaue nach.', 'It’s fine 😀.'];
      expect(answers.map(({ parts }) => joinText(parts))).toEqual(said);
      expect([1, 2].map((turn) => textOfEvents(events, turn))).toEqual(said);
      expect((await itemsIn(log)).slice(1)).toEqual(items);
    },
  );

  test('parts that stream at once are kept apart by id', async () => {
    const piece = (index: number, rest: JsonObject) =>
      JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...rest }] } }] });
    const begin = (index: number, id: string) =>
      piece(index, { id, function: { name: 'read', arguments: '{"path":' } });
    const more = (index: number, given: string) => piece(index, { function: { arguments: given } });
    const [a, b] = [more(0, '"a"}'), more(1, '"b"}')];
    reply(sseReply([begin(0, 'c0'), begin(1, 'c1'), b, a, finishEvent('tool_calls')]));
    reply(sseReply([textEvent('Both.'), finishEvent()]));
    const { items, text } = await createAgent().run('Look').result;
    expect(text).toBe('Both.');
    expect(items[1]?.parts).toMatchObject([
      { toolCallId: 'c0', text: 'the contents of a' },
      { toolCallId: 'c1', text: 'the contents of b' },
    ]);
  });

  // Chunk handling of the transport is tested in stream-rules.test.ts of the providers.
  test('a character that is split over network chunks is decoded correctly', async () => {
    const text = 'Grüße, 水車 👩‍👩‍👧!';
    reply(streamReply(splitEvery(frameSse([textEvent(text), finishEvent()]), 1)));
    const run = createAgent().run('Greet');
    expect([textOfEvents(await eventsOf(run)), (await run.result).text]).toEqual([text, text]);
  });

  test('an abort keeps the streamed text exactly', async () => {
    reply(streamReply([sseText(textEvent('Once upon'), textEvent(' a time')), stalled]));
    reply(sseReply([textEvent('Yes.'), finishEvent()]));
    const agent = createAgent();
    const run = agent.run('Tell', { session });
    await readUntilText(run, 'Once upon a time');
    await run.abort();
    expect((await run.result).text).toBe('Once upon a time');
    expect(await requests()[0]?.closed).toBe('client');
    await agent.run('Go on', { session }).result;
    expect(requests()[1]?.body).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant', content: 'Once upon a time' }, {}],
    });
  });

  test('empty arguments run a tool without parameters', async () => {
    reply(sseReply([toolCallEvent('', 'now'), finishEvent('tool_calls')]));
    reply(sseReply([textEvent('Nine.'), finishEvent()]));
    const { items } = await createAgent().run('The time?').result;
    expect(items[1]?.parts).toMatchObject([{ text: 'a quarter past nine', isError: false }]);
  });

  test('usage is counted once, even if the provider sends it with each chunk', async () => {
    const withUsage = (event: string, output: number) =>
      event.replace(/\}$/, `,"usage":{"prompt_tokens":11,"completion_tokens":${output}}}`);
    const call = [
      withUsage(toolCallEvent('{}', 'now'), 3),
      withUsage(finishEvent('tool_calls'), 7),
      usageEvent,
    ];
    reply(sseReply(call, { done: true }));
    reply(sseReply([withUsage(textEvent('Nine.'), 2), finishEvent(), usageEvent], { done: true }));
    const meter = usageObserver();
    const { usage } = await createAgent({ observers: [meter.observe] }).run('The time?').result;
    expect(usage).toMatchObject({ input: 22, output: 14, estimated: false });
    expect(meter.totals().usage).toEqual(usage);
  });
});

// Split characters are tested above.
describe('mini-claw-code', () => {
  test('`data:` without a space is accepted', async () => {
    reply(
      sseReply([textEvent('It'), textEvent(' rains.'), finishEvent()], { spaceAfterColon: false }),
    );
    expect((await createAgent().run('The weather?').result).text).toBe('It rains.');
  });

  test('a stream without a terminal event is no success, and keeps the partial answer', async () => {
    reply(streamReply([sseText(textEvent('It tur'), toolCallEvent('{"path":"a"}', 'read'))]));
    const { stop, text, items } = await createAgent({ retry: { maxAttempts: 1 } }).run('Go').result;
    expect(stop).toMatchObject({ reason: 'error', cause: 'truncated_stream' });
    expect(text).toBe('It tur');
    expect(items).toMatchObject([{ kind: 'assistant', parts: [{ kind: 'text' }] }]);
  });

  test('invalid arguments do not run the tool, not even with null', async () => {
    const inputs: unknown[] = [];
    const anything = defineTool({
      ...{ name: 'anything', description: 'Takes all', input: z.unknown() },
      execute: async (input) => void inputs.push(input),
    });
    reply(sseReply([toolCallEvent('{"path": oops', 'anything'), finishEvent('tool_calls')]));
    reply(sseReply([textEvent('Sorry.'), finishEvent()]));
    await createAgent({ tools: [anything] }).run('Go').result;
    expect(inputs).toEqual([]);
    expect(requests()[1]?.body).toMatchObject({
      messages: [{}, {}, { role: 'tool', content: expect.stringContaining('not JSON') }],
    });
  });

  test('the start of a tool is stored and published before it runs', async () => {
    const [log] = twoLogs();
    const told: string[] = [];
    let [toldBefore, storedBefore]: [readonly string[], readonly LogRecord[]] = [[], []];
    const looks = defineTool({
      ...{ name: 'looks', description: 'Looks at the log', input: z.object({}) },
      execute: async () => {
        toldBefore = [...told];
        storedBefore = (await log.read(session)).records;
      },
    });
    reply(sseReply([toolCallEvent('{}', 'looks'), finishEvent('tool_calls')]));
    reply(sseReply([textEvent('Seen.'), finishEvent()]));
    const observers = [
      (_: LogRecord, events: readonly AgentEvent[]) => told.push(...types(events)),
    ];
    await createAgent({ log, tools: [looks], observers }).run('Go', { session }).result;
    expect(toldBefore.at(-1)).toBe('tool_execution_started');
    expect(storedBefore.at(-1)?.fact?.type).toBe('tool_execution_started');
  });

  test('a huge index is accepted', async () => {
    const delta = {
      tool_calls: [{ index: 4_294_967_295, id: 'c', function: { name: 'now', arguments: '{}' } }],
    };
    const event = JSON.stringify({ choices: [{ index: 0, delta }] });
    reply(sseReply([event, finishEvent('tool_calls')]));
    reply(sseReply([textEvent('Nine.'), finishEvent()]));
    const { items } = await createAgent().run('The time?').result;
    expect(items[1]?.parts).toMatchObject([{ text: 'a quarter past nine' }]);
  });

  test('an error in the stream is reported with its message', async () => {
    const error = { message: 'The key was withdrawn', type: 'authentication_error', code: 401 };
    reply(sseReply([textEvent('Half'), JSON.stringify({ error })]));
    const run = createAgent().run('Go');
    const [events, { stop, text }] = [await eventsOf(run), await run.result];
    expect([stop, text]).toMatchObject([{ reason: 'error', cause: 'auth' }, 'Half']);
    const reported = events.find(({ type }) => type === 'error_reported');
    expect(reported).toMatchObject({ error: { message: expect.stringContaining('withdrawn') } });
  });
});

describe('pi', () => {
  test('readers of one run do not affect each other, including a late one', async () => {
    answer({ text: 'One two three four five six.' }, { pieces: 'characters' });
    const run = createAgent().run('Count');
    const [one, other] = await Promise.all([eventsOf(run), eventsOf(run)]);
    const late = await eventsOf(run);
    const facts = (events: readonly AgentEvent[]) =>
      events.filter(({ type }) => type !== 'assistant_text_delta');
    for (const events of [one, other, late]) {
      expect(textOfEvents(events)).toBe('One two three four five six.');
      expect(facts(events)).toEqual(facts(one));
    }
    expect(facts(one).length).toBeGreaterThan(8);
  });

  test('published events do not change later', async () => {
    answer({ text: 'One two three four five six.' }, { pieces: 'characters' });
    const events: AgentEvent[] = [];
    const then: string[] = [];
    const keep = (_: LogRecord, told: readonly AgentEvent[]) => {
      events.push(...told);
      then.push(...told.map((event) => encodeEvent(event)));
    };
    await createAgent({ observers: [keep] }).run('Count').result;
    expect(events.length).toBeGreaterThan(30);
    expect(events.map((event) => encodeEvent(event))).toEqual(then);
  });

  test('streamed text is on disk before its message ends', async () => {
    const gate = newGate();
    const rest = sseText(textEvent(' is all.'), finishEvent());
    reply(streamReply([sseText(textEvent('That')), { type: 'wait', for: gate }, rest]));
    const [log, elsewhere] = twoLogs();
    const run = createAgent({ log }).run('Go', { session });
    await readUntilText(run, 'That');
    const { open } = await snapshot(elsewhere, session);
    expect(open.map(({ text }) => text)).toEqual(['That']);
    gate.open();
    await run.result;
  });

  test('a second writer of a session is refused, and the first is not affected', async () => {
    const gate = newGate();
    reply(
      streamReply([
        sseText(textEvent('Mine')),
        { type: 'wait', for: gate },
        sseText(finishEvent()),
      ]),
    );
    const logs = twoLogs();
    const run = createAgent({ log: logs[0], name: 'somebody' }).run('Go', { session });
    await readUntilText(run, 'Mine');
    const { stop, error } = await createAgent({ log: logs[1] }).run('Go too', { session }).result;
    expect(stop).toEqual({ reason: 'error', cause: 'held' });
    expect(error?.message).toContain('somebody');
    gate.open();
    expect((await run.result).text).toBe('Mine');
    expect(requests()).toHaveLength(1);
  });

  const busy = 'rate limit: overloaded, 503, try again';
  test.each<[string, number, JsonObject, number]>([
    ['is, by its status, whatever it says', 503, { message: 'invalid api key' }, 2],
    ['is, where it is a limit of speed', 429, { message: 'quota of invalid keys' }, 2],
    ['is not, where it is one of money', 429, { code: 'insufficient_quota', message: busy }, 1],
    ['is not, whatever it says of overload', 401, { message: busy }, 1],
    ['is not, where the request is to blame', 400, { message: 'terminated' }, 1],
  ])('what failed %s, tried again', async (_how, status, error, times) => {
    reply(jsonReply(status, { error }));
    reply(sseReply([textEvent('At last.'), finishEvent()]));
    const { stop } = await createAgent().run('Go').result;
    expect(requests()).toHaveLength(times);
    expect(stop.reason).toBe(times === 1 ? 'error' : 'stop');
  });

  test('a provider that ends without a terminal event blocks nothing', async () => {
    const endless = createProvider('mute', 'm', async function* () {
      yield { deltas: [] };
    });
    const run = createAgent({ provider: endless }).run('Go');
    const [events, { stop }] = [await eventsOf(run), await run.result];
    expect(stop).toMatchObject({ reason: 'error', cause: 'protocol_error' });
    expect(types(events).at(-1)).toBe('run_finished');
  });

  test('neither does a provider that throws', async () => {
    const throwing = createProvider('broken', 'm', async function* () {
      yield { deltas: [] };
      throw new Error('This should not happen');
    });
    const log = memoryLog();
    const run = createAgent({ provider: throwing, log }).run('Go', { session });
    const [events, { stop }] = [await eventsOf(run), await run.result];
    expect(stop.reason).toBe('error');
    expect(types(events).at(-1)).toBe('run_finished');
    expect((await log.info(session))?.hasWork).toBe(false);
  });
});

describe('OpenAI Agents', () => {
  test('an abort by the caller’s signal keeps the text before the running call', async () => {
    reply(
      streamReply([sseText(textEvent('I look it up.'), toolCallEvent('{"pa', 'read')), stalled]),
    );
    const controller = new AbortController();
    const run = createAgent().run('Go', { signal: controller.signal });
    await readUntilText(run, 'I look it up.');
    controller.abort(new Error('The tab was closed'));
    const { stop, items } = await run.result;
    expect(stop.reason).toBe('aborted');
    expect(items).toMatchObject([{ kind: 'assistant', parts: [{ text: 'I look it up.' }] }]);
    expect(await requests()[0]?.closed).toBe('client');
  });

  test('argument pieces are published while they stream, before the call is ready', async () => {
    const gate = newGate();
    const begin = sseText(toolCallEvent('{"path":', 'read'));
    const rest = sseText(toolCallEvent('"a"}'), finishEvent('tool_calls'));
    reply(streamReply([begin, { type: 'wait', for: gate }, rest]));
    reply(sseReply([textEvent('Done.'), finishEvent()]));
    const told: string[] = [];
    for await (const event of createAgent().run('Look').events) {
      if (event.type === 'tool_call_started') told.push(event.name);
      if (event.type === 'tool_call_arguments_delta') {
        told.push(event.delta);
        gate.open();
      }
      if (event.type === 'tool_call_ready') told.push('ready');
    }
    expect(told).toEqual(['read', '{"path":', '"a"}', 'ready']);
  });

  test('a model that is faster than the log is slowed down', async () => {
    const count = 20_000;
    const { provider, asked } = flood(count);
    const gate = newGate();
    const log = withDelay(memoryLog(), async (drafts) => {
      if (drafts.some(({ delta }) => delta?.type === 'append_text')) await gate.pass();
    });
    const run = createAgent({ provider, log }).run('Go', { session });
    await flushPendingWork();
    expect(asked()).toBeGreaterThan(0);
    expect(asked()).toBeLessThan(2000);
    gate.open();
    expect((await run.result).text).toBe('drop '.repeat(count));
  });
});

describe('Vercel AI SDK', () => {
  test('a run can be stopped and resumed by another client, from any record', async () => {
    reply(
      streamReply([sseText(textEvent('One'), textEvent(' two'), textEvent(' three')), stalled]),
    );
    const [log, elsewhere] = twoLogs();
    const run = createAgent({ log }).run('Count', { session });
    await readUntilText(run, 'One two three');
    const following = new LogReader(session).follow(elsewhere);
    await elsewhere.submit(session, { type: 'abort', reason: 'from elsewhere' }, 'key');
    expect((await run.result).stop.reason).toBe('aborted');
    expect(await requests()[0]?.closed).toBe('client');
    const { events } = await following;
    expect(textOfEvents(events)).toBe('One two three');
    expect(types(events)).toEqual(expect.arrayContaining(['aborted', 'run_finished']));
  });

  test('a reader that is cut off at any record and resumes gets everything once', async () => {
    answer({ text: 'I look.', toolCalls: [{ name: 'now', arguments: '{}' }] }, { pieces: 2 });
    answer({ text: 'It is nine.' }, { pieces: 'characters' });
    const [log, elsewhere] = twoLogs();
    await createAgent({ log }).run('The time?', { session }).result;
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    expect(records.length).toBeGreaterThan(30);
    const whole = await itemsIn(log);
    for (let through = 0; through <= records.length; through++) {
      const reader = new LogReader(session);
      reader.take({ after: 0, through, records: records.slice(0, through) });
      const { events, folder } = await reader.follow(elsewhere);
      expect(textOfEvents(events), `at ${through}`).toBe('I look.It is nine.');
      expect(transcript(folder.state), `at ${through}`).toEqual(whole);
    }
  });

  test('an error in the middle of the stream is retried, and the text appears once', async () => {
    const error = { type: 'overloaded_error', message: 'Overloaded', code: 529 };
    reply(sseReply([textEvent('It tu'), JSON.stringify({ error })]));
    reply(sseReply([textEvent('It rains.'), finishEvent(), usageEvent], { done: true }));
    const run = createAgent().run('The weather?');
    const [events, { text, items, usage }] = [await eventsOf(run), await run.result];
    expect([text, items.length]).toEqual(['It rains.', 1]);
    const [superseded] = events.filter(({ type }) => type === 'attempt_superseded');
    expect(superseded).toMatchObject({ turn: 1, attempt: 1, reason: 'overloaded' });
    expect(usage.output).toBeGreaterThan(7);
  });

  test('after an abort, text and usage are available', async () => {
    reply(streamReply([sseText(textEvent('Once upon a time')), stalled]));
    const run = createAgent().run('Tell');
    await readUntilText(run, 'Once upon a time');
    await run.abort();
    const { text, usage, stop } = await run.result;
    expect([text, stop.reason, usage.estimated]).toEqual(['Once upon a time', 'aborted', true]);
    expect(Math.min(usage.input, usage.output)).toBeGreaterThan(0);
  });

  test('the result needs no reader, and an unread view fetches nothing', async () => {
    let followed = 0;
    const inner = memoryLog();
    const log = withMethods(inner, {
      follow: (...given) => {
        followed++;
        return inner.follow(...given);
      },
    });
    const run = createAgent({
      ...{ provider: flood(5000).provider, log, clock: new VirtualClock() },
    }).run('Go');
    run.events[Symbol.asyncIterator]();
    expect((await run.result).text).toHaveLength(25_000);
    expect(followed).toBe(0);
  });

  // The memory limit per reader is tested in stalled.test.ts of the log.
  test('a reader that pauses blocks nothing, and gets everything later', async () => {
    const count = 5000;
    const run = createAgent({ provider: flood(count).provider }).run('Go');
    const reader = run.events[Symbol.asyncIterator]();
    expect((await reader.next()).value?.type).toBe('run_started');
    expect((await run.result).text).toHaveLength(count * 5);
    const events: AgentEvent[] = [];
    for (let next = await reader.next(); !next.done; next = await reader.next())
      events.push(next.value);
    expect(textOfEvents(events)).toBe('drop '.repeat(count));
    expect(events.at(-1)?.type).toBe('run_finished');
  });
});

describe('TanStack AI', () => {
  test('the first token is published at once, not when a batch is full', async () => {
    const gate = newGate();
    reply(
      streamReply([sseText(textEvent('A')), { type: 'wait', for: gate }, sseText(finishEvent())]),
    );
    const run = createAgent({ log: twoLogs()[0] }).run('Go');
    // The rest of the stream is held back until this text was read.
    await readUntilText(run, 'A');
    gate.open();
    expect((await run.result).text).toBe('A');
  });
});

// Recovery without generating again is tested in kills.full.test.ts.
describe('Cloudflare Agents', () => {
  test('everything is stored before it is published', async () => {
    answer({ text: 'One two three four five six.' }, { pieces: 'characters' });
    const [log, elsewhere] = twoLogs();
    const isStored = async (offset: number) =>
      ((await elsewhere.info(session))?.through ?? 0) >= offset;
    const stored: Promise<boolean>[] = [];
    const observers = [({ offset }: LogRecord) => void stored.push(isStored(offset))];
    const run = createAgent({ log, observers }).run('Count', { session });
    for await (const { offset } of run.events) stored.push(isStored(offset));
    expect(stored.length).toBeGreaterThan(40);
    expect(await Promise.all(stored)).not.toContain(false);
  });
});

// Approvals across a restart are tested in kills.full.test.ts, steering in agent.test.ts.
describe('what users ask for', () => {
  test('a stalled stream times out with a reason, and keeps the partial answer', async () => {
    reply(streamReply([sseText(textEvent('One moment')), stalled]));
    const clock = new VirtualClock();
    const provider = openaiChat({ model: 'm', baseUrl: url(), preset: 'compatible', clock });
    const log = memoryLog({ clock });
    const run = createAgent({ provider, clock, log, retry: { maxAttempts: 1 } }).run('Go');
    await readUntilText(run, 'One moment');
    const { stop, text } = await runToEnd(clock, run.result);
    expect([stop, text]).toMatchObject([{ reason: 'error', cause: 'timeout' }, 'One moment']);
    expect(await requests()[0]?.closed).toBe('client');
  });

  test('the cost of streaming arguments grows linearly', async () => {
    const toldOf = async (length: number) => {
      const pieces = Array.from({ length: length / 8 }, () => toolCallEvent('12345678'));
      reply(
        sseReply([
          toolCallEvent('{"path":"', 'read'),
          ...pieces,
          toolCallEvent('"}'),
          finishEvent('tool_calls'),
        ]),
      );
      reply(sseReply([textEvent('Long.'), finishEvent()]));
      let told = 0;
      const measure = (_: LogRecord, events: readonly AgentEvent[]) => {
        for (const event of events)
          if (event.type.endsWith('_delta')) told += encodeEvent(event).length;
      };
      await createAgent({ observers: [measure] }).run('Read').result;
      return told;
    };
    const [once, twice] = [await toldOf(8000), await toldOf(16_000)];
    expect(once).toBeGreaterThan(8000);
    expect(twice / once).toBeLessThan(2.2);
  });

  test('a second client can attach during a run, and receives all of it from the start', async () => {
    const gate = newGate();
    const [begin, rest] = [
      sseText(textEvent('One two')),
      sseText(textEvent(' three'), finishEvent()),
    ];
    reply(streamReply([begin, { type: 'wait', for: gate }, rest]));
    const [log, elsewhere] = twoLogs();
    const run = createAgent({ log }).run('Count', { session });
    await readUntilText(run, 'One two');
    const following = new LogReader(session).follow(elsewhere);
    gate.open();
    await run.result;
    expect(textOfEvents((await following).events)).toBe('One two three');
  });
});
