import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonValue, LogRecord } from '@millrace/core';
import { decodeRecord, encodeRecord } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { toolGuardrail } from '../guardrails/define-guardrail.ts';
import { call } from '../testing/model-script.ts';
import { looks, lookTool, session } from '../testing/replay-scenarios.ts';
import { runSchedule, schedules } from '../testing/schedules.ts';
import { jsonChanges } from './json-changes.ts';
import { packValues, unpackValue } from './packed-values.ts';
import { pinSession } from './pin-session.ts';
import { replaySuite } from './replay-suite.ts';
import { encodeRecording, type SessionRecording } from './session-recording.ts';
import { testRecordings } from './test-recordings.ts';

function agentOf(
  options: Partial<AgentOptions> = {},
  script: readonly ScriptEntry[] = [looks('a'), 'There.'],
) {
  const provider = scriptedProvider(script, { pieces: 'whole' });
  return createAgent({
    provider,
    tools: [lookTool()],
    instructions: 'Look.',
    log: memoryLog(),
    ...options,
  });
}

async function recorded(options: Partial<AgentOptions> = {}, script?: readonly ScriptEntry[]) {
  const agent = agentOf(options, script);
  await agent.run('Go', { session }).result;
  return agent;
}

const statusOf = async (agent: ReturnType<typeof agentOf>, recording: SessionRecording) =>
  (await testRecordings(agent, [{ name: 'one', recording }])).results[0];

test('random runs of an unchanged agent give no false alarm', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { agent } = await runSchedule(plan);
      const recording = await pinSession(agent, session);
      expect(await statusOf(agent, recording)).toMatchObject({ status: 'same', changes: [] });
    }),
    { numRuns: runs(100), endOnFailure: true },
  );
});

describe('an unchanged agent gives no false alarm', () => {
  test('with functions that use the context of a run, prepare steps and return tools', async () => {
    const small = scriptedProvider([looks('b')], { model: 'small' });
    const context = { plan: 'free' };
    const extra = lookTool({ name: 'extra' });
    const options: Partial<AgentOptions> = {
      instructions: async (_items, step) => {
        // A function can need time, for example to read a file.
        await new Promise((resolve) => setTimeout(resolve, 20));
        return `Plan: ${(step.context as typeof context).plan}`;
      },
      tools: [lookTool(), ({ step }) => (step === 1 ? [extra] : [])],
      prepareStep: ({ step }) =>
        step === 1 ? { provider: small, tools: ['extra', 'look'] } : undefined,
    };
    const script = [looks('a'), 'There.'];
    const agent = agentOf(options, script);
    await agent.run('Go', { session, context }).result;
    const recording = await pinSession(agent, session, { context });
    expect(recording.requests?.map(({ model }) => model)).toEqual(['script', 'small', 'script']);
    const named = [{ name: 'one', recording }];
    expect(await testRecordings(agent, named, { context })).toMatchObject({ same: 1, groups: [] });
    const other = await testRecordings(agent, named, { context: { plan: 'paid' } });
    expect(other.groups).toMatchObject([{ cause: 'instructions', count: 3 }]);
    const without = agentOf({ ...options, prepareStep: undefined }, script);
    expect(await testRecordings(without, named, { context })).toMatchObject({ changed: 1 });
  });

  test('with a guardrail that does not pass the new input of a user', async () => {
    const guardrail = toolGuardrail({
      name: 'near',
      check: ({ input }) =>
        JSON.stringify(input).includes('far') ? { verdict: 'stop', reason: 'far' } : 'pass',
    });
    const agent = agentOf({ approve: () => 'ask', whileAsking: 'park', guardrails: [guardrail] });
    await agent.run('Go', { session }).result;
    await agent.approve(session, 'a', { input: { at: 'far' } });
    await agent.resume(session).result;
    const recording = await pinSession(agent, session);
    expect(JSON.stringify(recording.records)).toContain('does not pass the new input');
    expect(await statusOf(agent, recording)).toMatchObject({ status: 'same' });
  });
});

describe('a pinned session', () => {
  test('needs an agent that does the same, a session, and a limit that is large enough', async () => {
    const log = memoryLog();
    await recorded({ log });
    const other = agentOf({ log, limits: { maxTurns: 1 } });
    await expect(pinSession(other, session)).rejects.toMatchObject({ code: 'not_replayable' });
    const same = agentOf({ log });
    await expect(pinSession(same, 'none')).rejects.toMatchObject({ code: 'no_session' });
    await expect(pinSession(same, session, { maxBytes: 100 })).rejects.toMatchObject({
      code: 'too_large',
    });
  });

  test('25: is refused at the request that is too much, and keeps equal parts of requests once', async () => {
    const turns = 12;
    const log = memoryLog();
    const lines = Array.from({ length: turns }, (_, at) => `Answer ${at}: ${'word '.repeat(20)}`);
    const talker = agentOf({ log }, lines);
    for (const [at] of lines.entries())
      await talker.run(`Question ${at}: ${'word '.repeat(20)}`, { session }).result;
    let asked = 0;
    const instructions = () => {
      asked++;
      return 'Be brief.';
    };
    const counted = agentOf({ log, instructions });
    const { requests = [] } = await pinSession(counted, session);
    expect([asked, requests.length]).toEqual([turns, turns]);
    const items = requests.flatMap(({ request }) => request['items'] as readonly JsonValue[]);
    expect(items.length).toBeGreaterThanOrEqual(turns * turns);
    expect(new Set(items.filter((item) => typeof item === 'object')).size).toBeLessThan(3 * turns);
    const { records } = await log.read(session);
    const maxBytes = records.map((one) => `${encodeRecord(one)}\n`).join('').length;
    for (const [more, most] of [
      [0, 1],
      [2000, turns / 2],
      [-1, 0],
    ] as const) {
      asked = 0;
      const pinned = pinSession(counted, session, { maxBytes: maxBytes + more });
      await expect(pinned).rejects.toMatchObject({ code: 'too_large' });
      expect(asked).toBeLessThanOrEqual(most);
    }
  });

  test('has no secret, also in records that the loop derives from it', async () => {
    const secret = 'hunter2-hunter2';
    // The line is cut inside of the secret, so a mask cannot find it.
    const summarize = ({ at }: { at: string }) => at.slice(0, 9);
    const agent = await recorded({ tools: [lookTool({ summarize })] }, [
      { content: { parts: [call('a', 'look', { at: secret })] } },
      'There.',
    ]);
    const maskText = (text: string) => text.replaceAll(secret, 'a'.repeat(secret.length));
    const maskRecords = (records: readonly LogRecord[]) =>
      records.map((record) => decodeRecord(maskText(encodeRecord(record))));
    const recording = await pinSession(agent, session, { maskText, maskRecords });
    expect(encodeRecording(recording)).not.toContain('hunter');
    expect((await statusOf(agent, recording))?.status).toBe('same');
  });

  test('gets smaller than its requests, because they repeat the conversation', async () => {
    const agent = await recorded({ limits: { maxRepeats: 100 } }, [
      ...Array.from({ length: 40 }, (_, at) => looks(`a${at}`)),
      'Done.',
    ]);
    const recording = await pinSession(agent, session);
    const text = encodeRecording(recording);
    expect(text.length).toBeLessThan(JSON.stringify(recording.requests).length / 3);
  });
});

test('packed values are the same after they are unpacked', () => {
  const key = fc.constantFrom('$', 'a', 'b');
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      fc.oneof(
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.constantFrom('x'.repeat(60), 'y'.repeat(60)),
      ),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree')),
    ),
  }));
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 4 }), (all) => {
      const { packed, values } = JSON.parse(JSON.stringify(packValues(all)));
      const unpacked = packed.map((value: JsonValue) => unpackValue(value, values));
      expect(unpacked).toEqual(JSON.parse(JSON.stringify(all)));
    }),
    { numRuns: runs(1000) },
  );
});

test('attack: a short recording cannot describe a value that fills the memory', () => {
  const values = Array.from({ length: 64 }, (_, at) =>
    at === 0 ? 'x' : [{ $: at - 1 }, { $: at - 1 }],
  );
  expect(() => unpackValue({ $: 63 }, values)).toThrow('too many values');
  expect(() => unpackValue({ $: 0 }, [{ $: 0 }])).toThrow('missing line');
});

test('changes name the entry of a list, and an inserted entry does not change all later ones', () => {
  const tool = (name: string, text: string) => ({ name, text });
  expect(
    jsonChanges(
      { tools: [tool('a', '1'), tool('b', '2')] },
      { tools: [tool('b', '3'), tool('c', '4')] },
    ),
  ).toEqual([
    { path: ['tools', 'a'], before: tool('a', '1'), after: undefined },
    { path: ['tools', 'b', 'text'], before: '2', after: '3' },
    { path: ['tools', 'c'], before: undefined, after: tool('c', '4') },
  ]);
  expect(jsonChanges({ list: [1, 2, 3] }, { list: [1, 9, 2, 3] })).toEqual([
    { path: ['list', '1'], before: undefined, after: 9 },
  ]);
});

test('18.394: a difference deep inside of a large value is found in linear time', () => {
  const deepList = (last: number) => {
    let value: JsonValue = [...Array.from({ length: 300_000 }, () => 0), last];
    for (let depth = 0; depth < 100; depth++) value = [value];
    return value;
  };
  const path = [...Array.from({ length: 100 }, () => '0'), '300000'];
  expect(jsonChanges(deepList(1), deepList(2))).toEqual([{ path, before: 1, after: 2 }]);
});

describe('a suite', () => {
  let folder = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-suite-'));
    const recording = await pinSession(await recorded(), session);
    writeFileSync(join(folder, 'one.recording.jsonl'), encodeRecording(recording));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has a test for each recording, which names the turn and the change', async () => {
    const cases = await replaySuite({ agent: agentOf(), folder });
    expect(cases.map(({ name }) => name)).toEqual(['one']);
    await cases[0]?.run();
    const changed = await replaySuite({ agent: agentOf({ instructions: 'Look well.' }), folder });
    await expect(changed[0]?.run()).rejects.toThrow(
      'The agent differs from the recording one\nturn 1: The instructions differ\n  - Look.\n  + Look well.\nturn 2:',
    );
  });

  test('accepts changes, also of the loop', async () => {
    const path = join(folder, 'one.recording.jsonl');
    const before = readFileSync(path, 'utf8');
    const agent = agentOf({ instructions: 'Look well.', limits: { maxTurns: 1 } });
    for (const { run } of await replaySuite({ agent, folder, accept: true })) await run();
    expect(readFileSync(path, 'utf8')).not.toBe(before);
    for (const { run } of await replaySuite({ agent, folder, mode: 'exact' })) await run();
    const [again] = await replaySuite({ agent: agentOf({ instructions: 'Look well.' }), folder });
    await expect(again?.run()).rejects.toThrow('a difference was accepted');
  });

  test('of an empty folder is a mistake', async () => {
    await expect(
      replaySuite({ agent: agentOf(), folder: join(folder, '..', 'no-such-folder') }),
    ).rejects.toThrow();
  });
});

describe('a live test', () => {
  test('continues with the model of the agent, recorded results and the recorded inputs', async () => {
    const agent = await recorded({}, [looks('a'), 'There.', 'And there.']);
    await agent.run('And b?', { session }).result;
    const recording = await pinSession(agent, session);
    const executed: string[] = [];
    const tool = lookTool({ execute: async ({ at }) => void executed.push(at) });
    const today = agentOf({ instructions: 'Look well.', tools: [tool] }, [
      looks('a'),
      looks('z'),
      'Here.',
      'End.',
    ]);
    const { results } = await testRecordings(today, [{ name: 'one', recording }], { mode: 'live' });
    expect(results[0]?.live).toMatchObject({
      ...{
        fromTurn: 1,
        stop: 'stop',
        text: 'End.',
        recordedCalls: 1,
        unknownCalls: 1,
        ranTools: [],
      },
      diff: { a: { turns: 3 }, b: { turns: 4 } },
    });
    expect(executed).toEqual([]);
  });

  test('runs the tools that a function chooses', async () => {
    const recording = await pinSession(await recorded(), session);
    const sandboxed = lookTool({ execute: async () => 'in a sandbox' });
    const today = agentOf({ instructions: 'Look well.' }, [looks('b'), 'Here.']);
    const { results } = await testRecordings(today, [{ name: 'one', recording }], {
      ...{ mode: 'live', live: { tools: () => sandboxed } },
    });
    expect(results[0]?.live).toMatchObject({
      ranTools: ['look'],
      recordedCalls: 0,
      unknownCalls: 0,
    });
    expect(JSON.stringify(results[0]?.live?.records)).toContain('in a sandbox');
  });

  test('uses the recorded answers of the user, and stops at a new question', async () => {
    const approve = () => 'ask' as const;
    const log = memoryLog();
    const agent = agentOf({ log, approve, whileAsking: 'park' });
    await agent.run('Go', { session }).result;
    await agent.approve(session, 'a');
    await agent.resume(session).result;
    const recording = await pinSession(agent, session);
    const live = async (script: readonly ScriptEntry[]) => {
      const today = agentOf({ approve, whileAsking: 'park', instructions: 'Look well.' }, script);
      const report = await testRecordings(today, [{ name: 'one', recording }], { mode: 'live' });
      return report.results[0]?.live;
    };
    expect(await live([looks('a'), 'Here.'])).toMatchObject({ stop: 'stop', recordedCalls: 1 });
    expect(await live([looks('b'), 'Here.'])).toMatchObject({ stop: 'parked', recordedCalls: 0 });
  });
});
