import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type JsonObject, type LogRecord, sessionId, toArray } from '@millrace/core';
import { type Log, sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import {
  answerReply,
  type ScriptedRequest,
  type ScriptedServer,
  startScriptedServer,
  type WireAnswer,
} from '@millrace/providers/scripted-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import { childEnv, isFull, patientMs } from '../../../core/src/testing/runs.ts';
import { readRecords } from '../history/fork-before.ts';
import type { ExperimentReport } from './experiment.ts';

const matrix = isFull ? [3, 50, 3] : [2, 3, 2];
const [variants = 0, cases = 0, repeats = 0] = matrix;
const runCount = variants * cases * repeats;
const kills = isFull ? 20 : 3;
/** Two requests of the agent and one of the judge. */
const leastCalls = runCount * 3;
const concurrency = 6;

let folder: string;
let program: string;
let server: ScriptedServer;
/** The number of calls by session and turn. The server counts them outside of the killed process. */
const calls = new Map<string, number>();
/** Resolves when the server may answer a call. */
let onCall = async () => {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'experiment-kills-'));
  program = bundledProgram(new URL('../testing/kills/run-experiment.ts', import.meta.url));
  server = await startScriptedServer(async (request) => {
    const { key, answer } = answerTo(request);
    calls.set(key, (calls.get(key) ?? 0) + 1);
    await onCall();
    return answerReply(answer, request);
  });
}, patientMs(120_000));
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Answers as a model that calls a tool and then names its session, or as a judge. */
function answerTo({ body }: ScriptedRequest): {
  readonly key: string;
  readonly answer: WireAnswer;
} {
  const { messages } = body as { readonly messages: readonly JsonObject[] };
  const text = JSON.stringify(messages);
  const [session = ''] = /eval\/kills\/v\d+\/c\d+\/\d+\/\w+/.exec(text) ?? [];
  const usage = { input: 10, output: 5 };
  if ((body as JsonObject)['model'] === 'judge')
    return { key: `${session} judge`, answer: { text: '{"score":1,"reason":"ok"}', usage } };
  const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
  const call = { id: 'c1', name: 'look', arguments: '{}' };
  const answer = turn === 1 ? { toolCalls: [call], usage } : { text: `I am ${session}`, usage };
  return { key: `${session} ${turn}`, answer };
}

const total = () => [...calls.values()].reduce((sum, count) => sum + count, 0);

function start(path: string): ChildProcess {
  const args = [program, path, server.url, ...matrix.map(String)];
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  return spawn(process.execPath, args, { env: childEnv(), stdio: [...stdio] });
}

/**
 * Kills the process at a random moment around a call. The server answers no later call, so the process cannot
 * end before the kill.
 */
async function killAfter(path: string, count: number): Promise<void> {
  const child = start(path);
  const exited = once(child, 'exit');
  const reached = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  const isLastAnswered = Math.random() < 0.5;
  let left = count;
  onCall = async () => {
    left--;
    if (left === 0) reached.resolve();
    if (left < 0 || (left === 0 && !isLastAnswered)) await killed.promise;
  };
  await Promise.race([reached.promise, exited]);
  // A random moment of the kill. It is not a wait for something.
  await delay(Math.random() * 30);
  child.kill('SIGKILL');
  const [, signal] = await exited;
  killed.resolve();
  // Calls that the process sent before its end can arrive later. They must be counted before the next start.
  await expect.poll(() => server.openConnections).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  onCall = async () => {};
  expect(signal).toBe('SIGKILL');
}

/** Returns the keys of all answers that are complete on the log. */
async function answersOn(log: Log): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const { session, records } of await sessionsOf(log))
    for (const { fact, turn } of records)
      if (fact?.type === 'response_finished')
        keys.add(session.includes('/judge/') ? `${runOf(session)} judge` : `${session} ${turn}`);
  return keys;
}

const runOf = (session: string) => session.slice(0, session.indexOf('/judge/'));

async function sessionsOf(log: Log) {
  const found: { readonly session: string; readonly records: readonly LogRecord[] }[] = [];
  for (const { session } of await log.list({ limit: 10_000 }))
    if (session !== 'eval/kills') found.push({ session, records: await readRecords(log, session) });
  return found;
}

test(
  'an experiment that is killed again and again has each run once, and no answer on the log is paid again',
  async () => {
    const path = join(folder, 'log.db');
    /** The number of calls that a kill interrupted, so that their answers were not on the log. */
    const interrupted = new Map<string, number>();
    let onLog: ReadonlySet<string> = new Set();
    for (let killed = 0; killed < kills; killed++) {
      const rest = Math.floor((leastCalls - calls.size) / (kills - killed + 1));
      const before = new Map(calls);
      await killAfter(path, 1 + Math.floor(Math.random() * Math.max(1, rest - concurrency)));
      const log = sqliteLog({ path });
      onLog = await answersOn(log);
      await log.close();
      for (const [key, count] of calls)
        if (count !== before.get(key) && !onLog.has(key))
          interrupted.set(key, (interrupted.get(key) ?? 0) + 1);
    }
    const child = start(path);
    let printed = '';
    child.stdout?.on('data', (chunk) => {
      printed += String(chunk);
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    const report = JSON.parse(printed) as ExperimentReport;
    const log = sqliteLog({ path });
    const sessions = await sessionsOf(log);
    const { state } = await sessionStates(log).load(sessionId('eval/kills'));
    await log.close();

    // Each run of the matrix and each judge has exactly one session with exactly one run, which has ended.
    expect(sessions.filter(({ session }) => !session.includes('/judge/'))).toHaveLength(runCount);
    expect(sessions).toHaveLength(2 * runCount);
    for (const { session, records } of sessions)
      for (const type of ['run_started', 'run_finished'])
        expect(
          records.filter(({ fact }) => fact?.type === type),
          session,
        ).toHaveLength(1);
    // The session of the experiment has one result and two scores for each run, and no result twice.
    expect(toArray(state.items)).toHaveLength(3 * runCount + 1);
    expect(report.isComplete).toBe(true);
    expect(report.runs).toHaveLength(runCount);
    expect(new Set(report.runs.map(({ session }) => session)).size).toBe(runCount);
    for (const { scores } of report.variants)
      expect([scores['matchesText']?.mean, scores['judge']?.mean]).toEqual([1, 1]);

    // The calls that the server counted: one for each answer, and one more for each call that a kill interrupted
    // before its answer was on the log. So an answer on the log was never asked for again.
    expect(calls.size).toBe(leastCalls);
    for (const [key, count] of calls) expect(count, key).toBe(1 + (interrupted.get(key) ?? 0));
    const extra = total() - leastCalls;
    expect(extra).toBeLessThanOrEqual(kills * concurrency);
    if (isFull)
      console.info(
        `${runCount} runs, ${kills} kills: ${total()} calls for ${leastCalls} answers, ${extra} interrupted; ${onLog.size} answers were on the log at the last kill`,
      );
  },
  patientMs(600_000),
);
