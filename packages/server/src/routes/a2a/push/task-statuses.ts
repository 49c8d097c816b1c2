import { isJsonObject, type JsonObject, type LogRecord } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ReadQueue } from '../../../http/replies/reply-turns.ts';
import { field } from '../../mcp/protocol/rpc-message.ts';
import { openStored } from '../../openai/response-log.ts';
import { type A2aTask, noAnswer } from '../open-task.ts';
import { TaskView } from '../task-view.ts';

/** A status of a task, and the offset of the record that set it. */
interface PassedStatus {
  readonly at: number;
  readonly status: JsonObject;
}

interface ReadStatuses {
  readonly statuses: readonly PassedStatus[];
  readonly isOver: boolean;
  /** True if the run has an open question, so that almost every record can change the status. */
  readonly isAsking: boolean;
  readonly through: number;
}

/** Returns a key for a status. Two questions of one task have different keys. */
export function statusKey(status: JsonObject | undefined): string | undefined {
  const { state, timestamp } = status ?? {};
  if (typeof state !== 'string') return undefined;
  return state === 'TASK_STATE_INPUT_REQUIRED' ? `${state}@${timestamp}` : state;
}

/**
 * Yields the statuses of a task after the status with the key `sent`, up to its end. Between two statuses, it
 * keeps no state of the run in memory. It reads the run again when a record can change the status.
 */
export async function* followStatuses(
  task: A2aTask,
  sent: string,
  {
    log,
    reads,
    signal,
  }: { readonly log: Log; readonly reads: ReadQueue; readonly signal: AbortSignal },
): AsyncGenerator<JsonObject> {
  for (let seen: number | undefined; ; ) {
    const read = await reads.run(() => readStatuses(task, log));
    const { statuses, through } = read;
    const known = statuses.findLastIndex(({ status }) => statusKey(status) === sent);
    const first = known < 0 ? statuses.slice(-1) : statuses.slice(known + 1);
    const after = seen ?? 0;
    const news = seen === undefined ? first : statuses.filter(({ at }) => at > after);
    for (const { status } of news) yield status;
    if (read.isOver || signal.aborted) return;
    seen = through;
    if (!(await changes(task.place.sessionId, read, log, signal))) return;
  }
}

/** Reads all statuses that a task has had. */
async function readStatuses(task: A2aTask, log: Log): Promise<ReadStatuses> {
  const { question, place } = task;
  const view = new TaskView(question, place);
  const { status: first } = view.task({ historyLength: 0, hasArtifacts: false });
  const statuses: PassedStatus[] = [{ at: 0, status: first as JsonObject }];
  const note = (event: JsonObject, at: number) => {
    const status = field(event['statusUpdate'], 'status');
    const isNew = isJsonObject(status) && statusKey(status) !== statusKey(statuses.at(-1)?.status);
    if (isNew) statuses.push({ at, status });
  };
  let through = question.offset;
  try {
    const { response, steps } = await openStored(question, log, { spansQuestions: true });
    for (const step of steps) for (const event of view.add(step)) note(event, step.record.offset);
    through = response.state.through;
  } catch (error) {
    note(view.fail(noAnswer(error)), through);
  }
  const { isOver, isAsking } = view;
  return { statuses, isOver, isAsking, through };
}

/** Waits for a record that can change the status. Returns false if there will be none. */
async function changes(
  session: string,
  { through, isAsking }: ReadStatuses,
  log: Log,
  signal: AbortSignal,
): Promise<boolean> {
  const isChange = ({ fact, delta }: LogRecord) =>
    fact === undefined
      ? isAsking && delta.type !== 'append_text'
      : isAsking || statusFacts.has(fact.type);
  for await (const { records } of log.follow(session, { from: through, signal }))
    if (records.some(isChange)) return true;
  return false;
}

/** The facts that can change the status of a run without an open question. */
const statusFacts: ReadonlySet<string> = new Set([
  ...['command_queued', 'command_consumed', 'approval_asked', 'run_finished'],
]);
