import { isDeepStrictEqual } from 'node:util';
import type { TaskHandle } from '@millrace/client';
import { encodeRecord, type LogRecord, sessionId } from '@millrace/core';
import { referenceTranscript } from '../../packages/core/src/testing/reference-fold.ts';
import type { Cluster, ToldRecord } from './cluster.ts';
import { expectedBegin, expectedEnd, type ToolRun, textOf } from './simulated-agent.ts';
import type { Rewind } from './stores/disk.ts';
import type { StoreState } from './stores/store-state.ts';

/** A message that a client has sent and the server has confirmed. */
export interface SentMessage {
  readonly task: string;
  readonly text: string;
  /** The offset of the message's command in the log, from the answer of the server. */
  readonly offset: number | undefined;
}

/** The data of a finished run, for the checks. */
export interface Outcome {
  readonly cluster: Cluster;
  readonly sent: readonly SentMessage[];
  readonly handles: readonly TaskHandle[];
}

/**
 * Checks the laws at the end of a run. It reads the store directly and uses the reference fold. So
 * it does not depend on the code that it checks.
 */
export function checkOutcome({ cluster, sent, handles }: Outcome): void {
  const tasks = new Set(handles.map(({ id }) => id));
  for (const task of tasks) {
    const records = recordsOf(cluster, task);
    checkOrder(cluster, task, records);
    checkAnswers(cluster, task, records, sent);
    checkRow(cluster, task, records);
  }
  checkTold(cluster);
  checkAcks(cluster, sent);
  checkToolRuns(cluster);
  for (const handle of handles) checkClient(cluster, handle);
}

function recordsOf({ disk }: Cluster, task: string): readonly LogRecord[] {
  return disk.state.sessions.get(sessionId(task))?.records ?? [];
}

/**
 * Checks that offsets have no gaps. Also checks that an earlier driver writes no records after a
 * later one.
 */
function checkOrder({ world }: Cluster, task: string, records: readonly LogRecord[]): void {
  let epoch = 0;
  for (const [index, { offset, producer }] of records.entries()) {
    if (offset !== index + 1) world.fail(`Task ${task}: record ${index + 1} has offset ${offset}`);
    const own = Number(/^driver (\d+)$/.exec(producer)?.[1] ?? epoch);
    if (own < epoch)
      world.fail(`Task ${task}: driver ${own} wrote ${offset} after driver ${epoch}`);
    epoch = own;
  }
}

/**
 * Checks that each confirmed message is in the log once. Also checks that it has one answer, unless
 * its run failed.
 */
function checkAnswers(
  { world, disk }: Cluster,
  task: string,
  records: readonly LogRecord[],
  sent: readonly SentMessage[],
): void {
  const items = referenceTranscript(records);
  const texts = (kind: string) => items.filter((item) => item.kind === kind).map(textOf);
  const [received, answers] = [texts('user'), texts('assistant')];
  const isRewound = disk.rewinds.length > 0;
  const hasFailed = records.some(
    ({ fact }) => fact?.type === 'run_finished' && fact.stop.reason !== 'stop',
  );
  for (const { text } of sent.filter((message) => message.task === task)) {
    const count = (list: readonly string[], wanted: string) =>
      list.filter((one) => one === wanted).length;
    const counts = {
      messages: count(received, text),
      begins: count(answers, expectedBegin(text)),
      ends: count(answers, expectedEnd(text)),
    };
    for (const [what, number] of Object.entries(counts)) {
      const isOptional = isRewound || (hasFailed && what !== 'messages');
      if (number > 1 || (number === 0 && !isOptional))
        world.fail(`Task ${task}: ${number} ${what} of "${text}"`);
    }
  }
}

/** Checks the status of a task row. It may be a failure only if the last run in the log failed. */
function checkRow({ world, rows }: Cluster, task: string, records: readonly LogRecord[]): void {
  const status = rows.state.get('tasks')?.get(task)?.data['status'];
  const finished = records.flatMap(({ fact }) => (fact?.type === 'run_finished' ? [fact] : []));
  const reason = finished.at(-1)?.stop.reason;
  const allowed: Record<string, readonly unknown[]> = {
    error: ['RUNNING', 'FAILED'],
    limit: ['RUNNING', 'FAILED'],
    aborted: ['RUNNING', 'INTERRUPTED'],
  };
  if (!(allowed[reason ?? ''] ?? ['RUNNING']).includes(status))
    world.fail(`Task ${task}: the row says ${status}, but its last run ended with ${reason}`);
}

/**
 * Checks that records that a driver has received are not lost or changed, unless the store was
 * rewound later.
 */
function checkTold({ world, disk, told }: Cluster): void {
  const texts = new Map<string, string>();
  for (const [session, { records }] of disk.state.sessions)
    for (const record of records) texts.set(`${session} ${record.offset}`, encodeRecord(record));
  const isIn = (state: StoreState, { session, offset, text }: ToldRecord) => {
    const record = state.sessions.get(sessionId(session))?.records[offset - 1];
    return record !== undefined && encodeRecord(record) === text;
  };
  const isRewound = (record: ToldRecord) =>
    disk.rewinds.some(({ before, after }) => isIn(before, record) && !isIn(after, record));
  for (const record of told) {
    const { session, offset, text } = record;
    const stored = texts.get(`${session} ${offset}`);
    // The session may be deleted. The storage check uses a temporary session.
    if (!disk.state.sessions.has(sessionId(session)) || stored === text || isRewound(record))
      continue;
    world.fail(
      `Session ${session}: record ${offset} was told as ${text}, and ${stored ?? 'nothing'} is stored`,
    );
  }
}

/**
 * Checks that the command of each confirmed message has the offset that the server reported.
 * Commands that a rewind removed are exceptions.
 */
function checkAcks({ world, disk }: Cluster, sent: readonly SentMessage[]): void {
  for (const { task, text, offset } of sent) {
    if (offset === undefined) continue;
    const isIn = ({ sessions }: StoreState) =>
      JSON.stringify(sessions.get(sessionId(task))?.records[offset - 1] ?? '').includes(text);
    const isRewound = disk.rewinds.some(({ before, after }) => isIn(before) && !isIn(after));
    if (!isRewound && !isIn(disk.state))
      world.fail(`Task ${task}: the message "${text}" is not at its offset ${offset}`);
  }
}

/** Checks that a tool with `afterCrash: 'fail'` runs at most once per message. */
function checkToolRuns({ world, disk, toolRuns }: Cluster): void {
  for (const [message, count] of doubledRuns(toolRuns, disk.rewinds))
    world.fail(`The tool with afterCrash 'fail' ran ${count} times for "${message}"`);
}

/**
 * Returns the messages for which the tool with `afterCrash: 'fail'` ran too often, and the number
 * of runs. Runs before the last rewind do not count. A rewind can remove the record of a start
 * before the tool runs, and the server may receive the store's answer after the rewind. For each of
 * these starts, one additional run is allowed.
 */
export function doubledRuns(
  toolRuns: readonly ToolRun[],
  rewinds: readonly Rewind[],
): ReadonlyMap<string, number> {
  const since = rewinds.at(-1)?.at ?? 0;
  const charges = toolRuns.filter(({ tool }) => tool === 'charge');
  const lost = lostStarts(rewinds);
  const doubled = new Map<string, number>();
  for (const [message, runs] of Map.groupBy(charges, (run) => run.message)) {
    const count = runs.filter(({ at }) => at >= since).length;
    const calls = [...new Set(runs.map(({ toolCallId }) => toolCallId))];
    const lostCount = calls.reduce((sum, call) => sum + (lost.get(call) ?? 0), 0);
    const unused = Math.max(0, lostCount - (runs.length - count));
    if (count > 1 + unused) doubled.set(message, count);
  }
  return doubled;
}

/** Counts the starts of tool calls that rewinds removed, by the id of the call. */
function lostStarts(rewinds: readonly Rewind[]): ReadonlyMap<string, number> {
  const lost = new Map<string, number>();
  for (const { before, after } of rewinds) {
    for (const [session, { records }] of before.sessions) {
      const kept = new Set(after.sessions.get(session)?.records.map(encodeRecord));
      for (const record of records) {
        const { fact } = record;
        if (fact?.type !== 'tool_execution_started' || kept.has(encodeRecord(record))) continue;
        lost.set(fact.toolCallId, (lost.get(fact.toolCallId) ?? 0) + 1);
      }
    }
  }
  return lost;
}

/** Checks that the transcript of a client equals the reference fold of the log. */
function checkClient(cluster: Cluster, handle: TaskHandle): void {
  const stored = referenceTranscript(recordsOf(cluster, handle.id));
  if (isDeepStrictEqual(plain(handle.transcript), plain(stored))) return;
  const { connection, state } = handle.snapshot();
  cluster.world.fail(
    `Task ${handle.id}: the transcript of a client (${connection.state}, through ${state.through}) differs from the log`,
  );
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
