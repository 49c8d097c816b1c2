import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decodeRecord,
  type Fact,
  type Item,
  type ItemId,
  type LogRecord,
  liveTranscript,
  sessionId,
  type ToolCallId,
  type ToolResultPart,
  toolCallId,
  transcript,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptedProvider, scriptedProvider } from '@millrace/providers/scripted';
import { childEnv, isFull, someOf } from '../../../../core/src/testing/runs.ts';
import type { Run, RunResult } from '../../contract/run.ts';
import { createAgent } from '../../create-agent.ts';
import { foldRecords } from '../read-log.ts';
import { scenarios, scenarioTools } from '../scenarios.ts';

export const session = sessionId('s');

type Policy = 'keep' | 'retry';

/**
 * Maximum number of kills for each kind of moment: after a fact, after a piece of text, or after a tool's
 * effect. Only the first few pieces of text are used, because later ones behave the same.
 */
const most = { fact: 1000, append: 3, effect: 1000 } as const;

type Moment = keyof typeof most;

export const moments: readonly Moment[] = ['fact', 'append', 'effect'];

/** A killed process, and the state of its session after another process resumed it. */
export interface Kill {
  /** The name of the kill: the scenario, the moment and the recovery policy. */
  readonly name: string;
  readonly scenario: string;
  readonly moment: Moment;
  readonly policy: Policy;
  /** The records that the observers of the killed process received. */
  readonly told: readonly LogRecord[];
  readonly before: readonly LogRecord[];
  /** True if the session was listed as waiting for a driver. */
  readonly wasWaiting: boolean;
  /** The state while a call waited for an approval. Undefined if no call waited. */
  readonly parked: ParkedState | undefined;
  readonly after: readonly LogRecord[];
  readonly result: RunResult;
  /** Number of model requests. */
  readonly requests: number;
  /** The lines that the tools wrote, in both processes together. */
  readonly written: readonly string[];
  readonly hasWork: boolean;
}

interface ParkedState {
  readonly records: readonly LogRecord[];
  readonly written: readonly string[];
}

/**
 * Returns how many facts, texts or effects precede each kill of a scenario. `npm run test:full` kills at
 * every moment until the scenario completes. The other modes kill at every effect, at one piece of text,
 * and at the facts that `chooseFacts` chose.
 */
export function countsOf(moment: Moment, chosenFacts: readonly number[]): readonly number[] {
  const all = Array.from({ length: most[moment] }, (_, index) => index + 1);
  if (isFull || moment === 'effect') return all;
  return moment === 'fact' ? chosenFacts : all.slice(0, 1);
}

/**
 * Runs each scenario to its end and chooses facts to kill at: one of each kind in all scenarios, and a
 * random tenth of the others. Facts about different commands or tools are of different kinds.
 */
export async function chooseFacts(
  program: string,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const chosen = new Map<string, number[]>();
  if (isFull) return chosen;
  const kinds = new Set<string>();
  const others: { readonly name: string; readonly count: number }[] = [];
  for (const name of names) {
    const files = filesOf(join(folder, `${name}, whole`));
    await isKilled(program, files, [name, 'none', '0']);
    const facts = factsOf(linesIn(files.told).map((line) => decodeRecord(line)));
    for (const [index, fact] of facts.entries()) {
      const tool = fact.type.startsWith('tool_execution') && 'name' in fact ? fact.name : '';
      const command = fact.type === 'command_queued' ? fact.command['type'] : '';
      const kind = `${fact.type} ${tool} ${command}`;
      const counts = chosen.get(name) ?? [];
      if (kinds.has(kind)) others.push({ name, count: index + 1 });
      else chosen.set(name, [...counts, index + 1]);
      kinds.add(kind);
    }
  }
  for (const { name, count } of someOf(others))
    chosen.set(name, [...(chosen.get(name) ?? []), count]);
  return chosen;
}

/** Runs a scenario and kills its process at these moments, until it completes. */
export async function killsOf(
  program: string,
  folder: string,
  scenario: string,
  moment: Moment,
  counts: readonly number[],
): Promise<readonly Kill[]> {
  const kills: Kill[] = [];
  for (const count of counts) {
    const name = `${scenario}, ${moment} ${count}`;
    const files = filesOf(join(folder, name));
    if (!(await isKilled(program, files, [scenario, moment, String(count)]))) return kills;
    const take = (policy: Policy) => {
      const whole = `${name}, ${policy}`;
      const own = copied(files, join(folder, whole));
      return resumeElsewhere(own, { name: whole, scenario, moment, policy });
    };
    const keepKill = await take('keep');
    kills.push(keepKill);
    // Without an interrupted answer, both policies have the same effect.
    if (isStreaming(keepKill.before)) kills.push(await take('retry'));
  }
  return kills;
}

/** True if a response has started and not ended. */
function isStreaming(records: readonly LogRecord[]): boolean {
  const last = (...types: readonly string[]) =>
    records.findLastIndex(({ fact }) => fact !== undefined && types.includes(fact.type));
  return last('response_started') > last('response_finished', 'attempt_superseded');
}

interface Files {
  readonly log: string;
  readonly lines: string;
  readonly told: string;
}

function filesOf(path: string): Files {
  return { log: `${path}.db`, lines: `${path}.txt`, told: `${path}.jsonl` };
}

/** Copies the log with its journal files, as they are on disk after a crash. */
function copied(from: Files, path: string): Files {
  const to = filesOf(path);
  const copy = (source: string, target: string) => {
    if (existsSync(source)) copyFileSync(source, target);
  };
  for (const end of ['', '-wal', '-shm']) copy(`${from.log}${end}`, `${to.log}${end}`);
  copy(from.lines, to.lines);
  copy(from.told, to.told);
  return to;
}

async function isKilled(
  program: string,
  { log, lines, told }: Files,
  moment: readonly string[],
): Promise<boolean> {
  const env = childEnv();
  const args = [program, log, lines, told, ...moment];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`It failed by itself: ${moment}`);
  return signal === 'SIGKILL';
}

async function resumeElsewhere(
  files: Files,
  about: Pick<Kill, 'name' | 'scenario' | 'moment' | 'policy'>,
): Promise<Kill> {
  const log = sqliteLog({ path: files.log });
  const told = linesIn(files.told).map((line) => decodeRecord(line));
  const before = await recordsOf(log);
  const wasWaiting = (await log.list({ isWaiting: true })).some((one) => one.session === session);
  const provider = scriptedProvider(['Go on.', 'Go on.', 'Go on.', 'Go on.']);
  const resume = () => resumed(log, files, about.scenario, about.policy, provider);
  let result = await resume();
  let parked: ParkedState | undefined;
  if (result.stop.reason === 'parked') {
    parked = { records: await recordsOf(log), written: linesIn(files.lines) };
    await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'from elsewhere');
    result = await resume();
  }
  const after = await recordsOf(log);
  const { hasWork = true } = (await log.info(session)) ?? {};
  await log.close();
  const rest = {
    result,
    requests: provider.requests.length,
    written: linesIn(files.lines),
    hasWork,
  };
  return { ...about, told, before, wasWaiting, parked, after, ...rest };
}

function resumed(
  log: Log,
  { lines }: Files,
  scenario: string,
  onInterrupted: Policy,
  provider: ScriptedProvider,
): Promise<RunResult> {
  let run: Run | undefined;
  const agent = createAgent({
    ...scenarios[scenario]?.options,
    ...{ provider, log, onInterrupted, tools: scenarioTools(lines), whileAsking: 'park' },
    observers: [
      ({ fact }) => {
        // The tool `hang` never ends by itself, so the run is aborted.
        if (fact?.type === 'tool_execution_started' && fact.name === 'hang')
          run?.abort().catch(() => {});
      },
    ],
  });
  run = agent.resume(session);
  return run.result;
}

async function recordsOf(log: Log): Promise<readonly LogRecord[]> {
  return (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

function linesIn(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
}

/** The id of the call that the scenarios ask approval for. */
export const askedCall = toolCallId('c1');

/** Runs all jobs, at most `width` at once. */
export async function runConcurrently<T>(
  jobs: readonly (() => Promise<T>)[],
  width: number,
): Promise<readonly T[]> {
  const done: T[] = [];
  const left = [...jobs];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) done.push(await job());
  };
  await Promise.all(Array.from({ length: width }, work));
  return done;
}

// The functions below describe the log that a killed process left. They use only facts.

export function factsOf(records: readonly LogRecord[]): readonly Fact[] {
  return records.flatMap(({ fact }) => fact ?? []);
}

export function itemsOf(records: readonly LogRecord[]): readonly Item[] {
  return transcript(foldRecords(session, records));
}

export function itemOf(items: readonly Item[], id: ItemId): Item | undefined {
  return items.find((item) => item.id === id);
}

export function resultsIn(items: readonly Item[]): readonly ToolResultPart[] {
  return items.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool_result' ? part : [])),
  );
}

export function has({ before }: Kill, type: Fact['type']): boolean {
  return factsOf(before).some((fact) => fact.type === type);
}

/** Returns the interrupted answer with the text that was streamed so far. */
export function cutAnswer({ before }: Kill): (Item & { readonly turn: number }) | undefined {
  const at = before.findLastIndex(({ fact }) => fact?.type === 'response_started');
  const { fact, turn = 0 } = before[at] ?? {};
  if (fact?.type !== 'response_started') return undefined;
  const isOver = factsOf(before.slice(at + 1)).some(
    (later) =>
      later.type === 'attempt_superseded' || ('itemId' in later && later.itemId === fact.itemId),
  );
  const item = itemOf(liveTranscript(foldRecords(session, before)), fact.itemId);
  return isOver || item?.kind !== 'assistant' ? undefined : { ...item, turn };
}

/** True if a command of this type was queued but not handled. */
export function isUnhandled({ before }: Kill, command: string): boolean {
  const facts = factsOf(before);
  const consumed = new Set(facts.map((fact) => (fact.type === 'command_consumed' ? fact.key : '')));
  return facts.some(
    (fact) =>
      fact.type === 'command_queued' && !consumed.has(fact.key) && fact.command['type'] === command,
  );
}

/** Returns the ids of the calls whose executions had this outcome, in order. */
export function callsWithOutcome(
  records: readonly LogRecord[],
  came: 'started' | 'completed' | 'lost',
  tools: readonly string[],
): readonly ToolCallId[] {
  return factsOf(records).flatMap((fact) => {
    if (fact.type !== 'tool_execution_started' && fact.type !== 'tool_execution_finished')
      return [];
    const outcome = fact.type === 'tool_execution_started' ? 'started' : fact.outcome;
    return outcome === came && tools.includes(fact.name) ? fact.toolCallId : [];
  });
}
