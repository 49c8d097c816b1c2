import {
  addUsage,
  countingIds,
  type JsonObject,
  type LogRecord,
  liveTranscript,
  noUsage,
  type Part,
  sessionId,
  type Usage,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { someOf } from '../../core/src/testing/runs.ts';
import { fetchOf } from '../../providers/src/testing/fetch-of.ts';
import { wireTable } from '../../providers/src/testing/wire-table.ts';
import { wait } from './abortable.ts';
import type { Run } from './contract/run.ts';
import { createAgent } from './create-agent.ts';
import { findLogProblems } from './testing/check-log.ts';
import { call } from './testing/model-script.ts';
import { foldRecords } from './testing/read-log.ts';
import { type Scenario, scenarioObserver, scenarios, scenarioTools } from './testing/scenarios.ts';
import { countActivity, withDelay } from './testing/test-doubles.ts';
import { runToEnd, VirtualClock } from './testing/virtual-time.ts';
import { defineTool } from './tool/define-tool.ts';

const session = sessionId('s');

type Performed = Awaited<ReturnType<typeof perform>>;

interface Delays {
  /** The time that streams and tools take to end. */
  readonly closingMs: number;
  /** The time that the log takes to store a batch. */
  readonly storingMs: number;
}

const atOnce: Delays = { closingMs: 0, storingMs: 0 };
const variants: readonly Delays[] = [
  atOnce,
  { ...atOnce, closingMs: 20 },
  { ...atOnce, storingMs: 3 },
  { ...atOnce, storingMs: 12 },
];

/** Runs the scenario and aborts it after the record with this offset. */
async function perform(scenario: Scenario, abortAt: number, delays: Delays) {
  const { closingMs, storingMs } = delays;
  const clock = new VirtualClock();
  const after = (ms: number) => wait(clock, ms, new AbortController().signal);
  const inner = memoryLog({ clock });
  const log = storingMs === 0 ? inner : withDelay(inner, () => after(storingMs));
  let run: Run | undefined;
  const act = scenarioObserver(scenario, () => run as Run);
  const records: LogRecord[] = [];
  const late: string[] = [];
  const busy = countActivity({
    provider: scriptedProvider(scenario.script, { clock, pieces: 'token', pauseMs: 5 }),
    tools: scenarioTools('/dev/null'),
    close: closingMs === 0 ? undefined : () => after(closingMs),
    onBegin: (what) => {
      if (what === 'tools' && offsetOf(records, 'aborted') !== undefined) late.push(what);
    },
  });
  const common = { log, clock, ids: countingIds(), random: () => 1, tools: busy.tools };
  const agent = createAgent({
    ...scenario.options,
    ...common,
    provider: busy.provider,
    observers: [
      (record) => {
        records.push(record);
        act(record);
        if (record.offset === abortAt) run?.abort('here').catch(() => {});
      },
    ],
  });
  run = agent.run('Begin', { session });
  // Measured when the result resolves, not later.
  const left = run.result.then(() => busy.now());
  const result = await runToEnd(clock, run.result);
  const name = `at ${abortAt}, closing in ${closingMs} ms, storing in ${storingMs} ms`;
  const seen = { left: await left, most: busy.most(), used: busy.used(), late };
  return { name, abortAt, delays, result, records, log, clock, common, ...seen };
}

/** The next request on each wire, validated by its rules. */
async function faultsOfNext({ log, clock, common }: Performed): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { wire, provider, faults: faultsOf, read } of wireTable) {
    const { fetch, requests } = fetchOf([]);
    const through = (await log.info(session))?.through ?? 0;
    const into = sessionId(`for ${wire}`);
    await log.fork(session, { into, through });
    const agent = createAgent({
      ...common,
      provider: provider(fetch, wire),
      retry: { maxAttempts: 1 },
    });
    await runToEnd(clock, agent.run('And now?', { session: into }).result);
    const [{ body } = { body: {} }] = requests;
    const found = requests.length === 1 ? faultsOf(body as JsonObject, read([])) : ['not sent'];
    faults.push(...found.map((fault) => `${wire}: ${fault}`));
  }
  return faults;
}

const offsetOf = (records: readonly LogRecord[], type: string) =>
  records.find(({ fact }) => fact?.type === type)?.offset;

/** The text and reasoning parts up to an offset, without superseded attempts. */
function saidBy(records: readonly LogRecord[], offset: number): readonly string[] {
  const then = records.filter((record) => record.offset <= offset);
  const items = liveTranscript(foldRecords(session, then));
  return items.flatMap(({ kind, parts }) => (kind === 'assistant' ? textsOf(parts) : []));
}

const textsOf = (parts: readonly Part[]) =>
  parts.flatMap((part) => (part.kind === 'text' || part.kind === 'reasoning' ? part.text : []));

/** The last usage of each attempt, derived from facts only. */
function usageOf(records: readonly LogRecord[]): ReadonlyMap<string, Usage> {
  const used = new Map<string, Usage>();
  for (const { turn, attempt, fact } of records)
    if (fact?.type === 'usage_reported' || fact?.type === 'response_finished')
      used.set(`${turn}.${attempt}`, fact.usage);
  return used;
}

describe.each(Object.entries(scenarios))('%s, aborted at each record,', (_about, scenario) => {
  let whole: Performed;
  let all: readonly Performed[];
  beforeAll(async () => {
    whole = await perform(scenario, Number.POSITIVE_INFINITY, atOnce);
    const cases = whole.records.flatMap(({ offset }) =>
      variants.map((delays) => ({ offset, delays })),
    );
    // The last one has said everything.
    const last = { offset: whole.records.length, delays: atOnce };
    const aborted: Performed[] = [];
    for (const { offset, delays } of [...someOf(cases), last])
      aborted.push(await perform(scenario, offset, delays));
    all = aborted;
  });

  test('ends as aborted if the abort came in time, and every call has a result', () => {
    const lastWord = whole.records.findLast(({ fact }) => fact?.type === 'turn_finished');
    for (const { name, abortAt, records, result } of all) {
      const isAborted = offsetOf(records, 'aborted') !== undefined;
      if (abortAt < (lastWord?.offset ?? 0)) expect(isAborted, name).toBe(true);
      expect(result.stop.reason, name).toBe(isAborted ? 'aborted' : 'stop');
      expect(findLogProblems(session, records), name).toEqual([]);
    }
  });

  test('has closed its request and stopped its tools when the result resolves', () => {
    for (const { name, left } of all) expect(left, name).toEqual({ streams: 0, tools: 0 });
    expect(Math.max(...all.map(({ most }) => most.streams))).toBe(1);
  });

  test('starts no more tools', () => {
    for (const { name, late } of all) expect(late, name).toEqual([]);
  });

  test('keeps the partial answer', () => {
    let letters = 0;
    for (const { name, abortAt, records } of all) {
      const offset = offsetOf(records, 'aborted') ?? abortAt;
      const kept = saidBy(records, Number.POSITIVE_INFINITY);
      for (const [index, text] of saidBy(records, offset).entries()) {
        letters += text.length;
        expect(kept[index]?.slice(0, text.length), name).toBe(text);
      }
    }
    const { length } = saidBy(whole.records, Number.POSITIVE_INFINITY).join('');
    expect(letters > 0).toBe(length > 0);
  });

  test('reports the usage of each request, including the aborted one', () => {
    for (const { name, records, result, used: told } of all) {
      const used = usageOf(records);
      const asked = records.flatMap(({ turn, attempt, fact }) =>
        fact?.type === 'response_started' ? `${turn}.${attempt}` : [],
      );
      expect([...used.keys()], name).toEqual(asked);
      expect([...used.values()], name).toEqual(told);
      expect(result.usage, name).toEqual(told.reduce(addUsage, noUsage));
    }
  });

  test('is followed by a request that is valid for every provider', async () => {
    for (const one of all.filter(({ delays }) => delays === atOnce))
      expect(await faultsOfNext(one), one.name).toEqual([]);
  });
});

// Regression: an abort that arrived while tools were stopped after a failed request was not
// checked.
test('an abort keeps the partial answer of a request that has just failed', async () => {
  const clock = new VirtualClock();
  let run: Run | undefined;
  const slow = defineTool({
    ...{ name: 'slow', description: 'Stops slowly', effects: 'none', input: z.object({}) },
    execute: (_input, { signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          run?.abort('enough').catch(() => {});
          clock.after(100, resolve);
        });
      }),
  });
  const provider = scriptedProvider(
    [
      {
        content: { parts: ['Half an answer', call('c', 'slow', {}), ' and the rest'] },
        fault: { type: 'error', after: 7, error: 'overloaded' },
      },
      'A whole one.',
    ],
    { clock, pieces: 'whole', pauseMs: 10 },
  );
  run = createAgent({ provider, clock, log: memoryLog({ clock }), tools: [slow] }).run('Go');
  const { stop, text } = await runToEnd(clock, run.result);
  expect(stop.reason).toBe('aborted');
  expect(text).toContain('Half an answer');
});
