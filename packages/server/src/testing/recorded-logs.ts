import { type Agent, createAgent, defineTool, type Run, type Tool } from '@millrace/agent';
import { countingIds, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { frameRecording } from '@millrace/providers/scripted-server';
import { z } from 'zod';
import {
  scenarioObserver,
  scenarios,
  scenarioTools,
} from '../../../agent/src/testing/scenarios.ts';
import { runToEnd, VirtualClock } from '../../../agent/src/testing/virtual-time.ts';
import { fewOf } from '../../../core/src/testing/runs.ts';
import { fetchOf } from '../../../providers/src/testing/fetch-of.ts';
import { casesOf, type RecordingCase } from '../../../providers/src/testing/play.ts';
import { type WireUnderTest, wireTable } from '../../../providers/src/testing/wire-table.ts';

export interface RecordedLog {
  readonly name: string;
  readonly session: SessionId;
  readonly records: readonly LogRecord[];
}

const session = sessionId('recorded');
let logsPromise: Promise<readonly RecordedLog[]> | undefined;

/** The recordings of each provider that a mode with fewer runs draws. */
const recordingsPerWire = 6;

/**
 * Returns one log per recording of every provider, and one per scenario of the agent loop. The tests of the
 * providers read all recordings in each mode. So only `npm run test:full` makes a log of each recording.
 */
export function recordedLogs(): Promise<readonly RecordedLog[]> {
  logsPromise ??= makeAll();
  return logsPromise;
}

async function makeAll(): Promise<readonly RecordedLog[]> {
  const logs: RecordedLog[] = [];
  for (const under of wireTable) {
    for (const one of fewOf(casesOf(under.wire), recordingsPerWire))
      logs.push(await ofRecording(under, one));
  }
  for (const name of Object.keys(scenarios)) logs.push(await ofScenario(name));
  return logs;
}

/**
 * Runs a recording and returns its log. The first run finds the tools that the recording calls. If there
 * are any, a second run provides them.
 */
async function ofRecording(under: WireUnderTest, one: RecordingCase): Promise<RecordedLog> {
  const called = new Set<string>();
  const first = await answered(under, one, []);
  for (const { delta } of first) {
    if (delta?.type === 'begin_part' && delta.kind === 'tool_call') called.add(delta.name);
    if (delta?.type === 'commit_part' && delta.part?.kind === 'tool_call')
      called.add(delta.part.name);
  }
  const tools = [...called].filter((name) => name !== '').map(toolOf);
  const records = tools.length === 0 ? first : await answered(under, one, tools);
  return { name: `${under.wire} ${one.name}`, session, records };
}

function toolOf(name: string): Tool {
  return defineTool({
    ...{ name, description: 'Answers', input: z.any() },
    execute: async (_input, { update }) => {
      update('working');
      return { of: name };
    },
  });
}

async function answered(
  { wire, provider }: WireUnderTest,
  { name, lines }: RecordingCase,
  tools: readonly Tool[],
): Promise<readonly LogRecord[]> {
  const recorded = provider(fetchOf([frameRecording(wire, lines)]).fetch, name);
  return ran((clock) => ({
    provider: inTurn(recorded, scriptedProvider(['Done.', 'Done.', 'Done.'], { clock })),
    retry: { maxAttempts: 2, baseDelayMs: 1 },
    tools,
  }));
}

/** Returns a provider that uses `first` for the first request and `others` for all later ones. */
function inTurn(first: Provider, others: Provider): Provider {
  let requests = 0;
  return {
    id: first.id,
    model: first.model,
    stream: (...given) => (requests++ === 0 ? first : others).stream(...given),
    complete: (...given) => first.complete(...given),
  };
}

async function ofScenario(name: string): Promise<RecordedLog> {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`There is no scenario ${name}`);
  let run: Run | undefined;
  const act = scenarioObserver(scenario, () => run as Run);
  const records = await ran(
    (clock) => ({
      ...scenario.options,
      tools: scenarioTools('/dev/null'),
      provider: scriptedProvider(scenario.script, { clock, pieces: 'token', pauseMs: 5 }),
      observers: [act],
    }),
    (started) => {
      run = started;
    },
  );
  return { name, session, records };
}

/**
 * Runs an agent and returns its records. It collects them when they are written, because readers get merged
 * appends.
 */
async function ran(
  options: (clock: VirtualClock) => Parameters<typeof createAgent>[0],
  onRun: (run: Run) => void = () => {},
): Promise<readonly LogRecord[]> {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const records: LogRecord[] = [];
  const own = { clock, log, ids: countingIds(), random: () => 1 };
  const { observers = [], ...given } = options(clock);
  const keep = (record: LogRecord) => void records.push(record);
  const agent: Agent = createAgent({ ...given, ...own, observers: [keep, ...observers] });
  const run = agent.run('Begin', { session });
  onRun(run);
  await runToEnd(clock, run.result);
  await log.close();
  return records;
}
