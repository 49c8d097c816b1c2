import { type Item, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import {
  type ScriptEntry,
  type ScriptedOptions,
  type ScriptedProvider,
  type ScriptedResponse,
  scriptedProvider,
} from '@millrace/providers/scripted';
import { z } from 'zod';
import { wait } from '../abortable.ts';
import type { Agent } from '../contract/agent.ts';
import type { Run, RunResult } from '../contract/run.ts';
import type { Tool, ToolContext } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool, type ToolOptions } from '../tool/define-tool.ts';
import { findLogProblems } from './check-log.ts';
import type { call } from './model-script.ts';
import { flushPendingWork, runToEnd, VirtualClock } from './virtual-time.ts';

export const session: SessionId = sessionId('s');

/** Returns a promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {});

/** An agent on virtual time, for tests with misbehaving providers, tools and policies. */
interface TestAgent {
  readonly agent: Agent;
  readonly clock: VirtualClock;
  readonly log: Log;
  readonly provider: ScriptedProvider;
  /** All observed records, of all runs. */
  readonly records: readonly LogRecord[];
  readonly diagnostics: readonly string[];
  /** Advances time until this many records of the type were observed. */
  until(type: string, count?: number): Promise<void>;
  end(run: Run): Promise<RunResult>;
}

export interface TestAgentOptions extends Partial<AgentOptions> {
  readonly clock?: VirtualClock;
}

export function createTestAgent(
  script: readonly ScriptEntry[],
  options: TestAgentOptions = {},
  how: ScriptedOptions = {},
): TestAgent {
  const { clock = new VirtualClock() } = options;
  const { log = memoryLog({ clock }) } = options;
  const provider = scriptedProvider(script, { clock, pieces: 'whole', ...how });
  const records: LogRecord[] = [];
  const diagnostics: string[] = [];
  const collect = (record: LogRecord) => void records.push(record);
  const agent = createAgent({
    provider,
    random: () => 1,
    onDiagnostic: (problem) => diagnostics.push(problem),
    ...options,
    ...{ clock, log, observers: [collect, ...(options.observers ?? [])] },
  });
  const until = (type: string, count = 1) =>
    untilTrue(clock, () => types(records).filter((one) => one === type).length >= count);
  const end = (run: Run) => runToEnd(clock, run.result);
  return { agent, clock, log, provider, records, diagnostics, until, end };
}

const mostSteps = 20_000;

/** Advances time until the condition is true. */
export async function untilTrue(clock: VirtualClock, isSo: () => boolean): Promise<void> {
  for (let step = 0; !isSo(); step++) {
    if (step > mostSteps) throw new Error('It never comes to that');
    await flushPendingWork();
    if (!isSo()) clock.advance(10);
  }
}

/** Waits, as a well-behaved tool does, for the given time or until the signal aborts. */
export function pause(clock: VirtualClock, ms: number, signal?: AbortSignal): Promise<void> {
  return wait(clock, ms, signal ?? new AbortController().signal);
}

/** Returns a tool that accepts any input and may return invalid values. */
export function tool(
  name: string,
  execute: (input: never, context: ToolContext) => unknown,
  more: Partial<ToolOptions<z.ZodUnknown>> = {},
): Tool {
  const input = z.unknown();
  return defineTool({ name, description: name, input, ...more, execute: execute as never });
}

/** Returns a scripted model response. */
export const answer = (
  ...parts: readonly (string | ReturnType<typeof call>)[]
): ScriptedResponse => ({ content: { parts } });

export const types = (records: readonly LogRecord[]): readonly (string | undefined)[] =>
  records.map(({ fact, delta }) => (fact ?? delta)?.type);

export const textsOf = ({ parts }: Item): readonly string[] =>
  parts.map((part) => ('text' in part ? part.text : part.kind));

/** Returns the texts of all tool results, in order. */
export const resultTexts = (items: readonly Item[]): readonly string[] =>
  items.flatMap((item) => (item.kind === 'tool' ? textsOf(item) : []));

/**
 * Returns the violations in the session's log. A further entry is added if the session still has work.
 */
export async function problemsLeftIn(
  log: Log,
  of: SessionId = session,
): Promise<readonly string[]> {
  const { records } = await log.read(of, { maxBytes: Number.POSITIVE_INFINITY });
  const isWaiting = (await log.info(of))?.hasWork === true;
  return [...findLogProblems(of, records), ...(isWaiting ? ['somebody has to go on with it'] : [])];
}
