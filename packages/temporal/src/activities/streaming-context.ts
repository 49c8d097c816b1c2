import { AgentError, createAgent } from '@millrace/agent';
import { type LogRecord, type RunId, runId, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { Context } from '@temporalio/activity';
import type { SentAnswer } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { assertKnownOptions } from '../known-options.ts';
import { withHeartbeat } from './heartbeat.ts';
import { type ManualStreamWriter, manualProvider } from './manual-provider.ts';
import { type RunInActivityOptions, runInActivity } from './run-in-activity.ts';

/** Options of `streamingContext`. */
export interface StreamingContextOptions {
  /** The log to stream to. */
  readonly log: Log;
  /**
   * The session to stream to. Default: the task id that came with the activity, otherwise the
   * workflow id.
   */
  readonly session?: string | undefined;
  /** Name of the author. Default: `streaming context`. */
  readonly name?: string | undefined;
}

/**
 * Streams the output of an activity to the log and returns the finished messages. Use it in your own
 * activities.
 *
 * The stream closes automatically. If `work` throws, the log keeps the output as partial, and the function
 * throws the same error. A retry replaces the output of the previous attempt. If another writer uses the
 * session, `work` starts when that writer has finished.
 */
export async function streamingContext(
  options: StreamingContextOptions,
  work: (stream: ManualStreamWriter) => Promise<void>,
): Promise<SentAnswer> {
  assertKnownOptions('streamingContext', options, { log: true, session: true, name: true });
  const { log, session: given, name = 'streaming context' } = options;
  const context = Context.current();
  const { info } = context;
  const { workflowId = '', runId: life = '' } = info.workflowExecution ?? {};
  const session = sessionId(given ?? currentIds().task ?? workflowId);
  const { provider, thrown } = manualProvider(work);
  const agent = createAgent({ ...{ name, provider, log }, retry: { maxAttempts: 1 } });
  const base = `${life}:${info.activityId}${contextSuffix(context)}`;
  const workflowOwner = `temporal workflow ${workflowId}`;
  const onHeld = (holder: string) => {
    // The run waits for its tool. If the tool also waited for the run, both would wait forever.
    const isOwnRun =
      info.activityType === 'millraceCall' && holder.startsWith(`${workflowOwner} [`);
    if (isOwnRun) throw streamsIntoOwnRun(session);
  };
  const sent = await withHeartbeat(async (signals) =>
    runInActivity(agent, {
      ...{ session, items: [], key: base, signals, startsTurn: true, onHeld },
      ...(await selectRun(log, session, base, info.attempt)),
      claim: {
        ...{ owner: `${workflowOwner}, activity ${base}`, life: base },
        attempt: info.attempt,
      },
    }),
  );
  const failure = thrown();
  if (failure !== undefined) throw failure.error;
  return sent;
}

const opened = new WeakMap<Context, number>();

/**
 * Returns a suffix that distinguishes the contexts of an activity. An activity may open several contexts
 * in sequence, and a retry opens them in the same order.
 */
function contextSuffix(context: Context): string {
  const before = opened.get(context) ?? 0;
  opened.set(context, before + 1);
  return before === 0 ? '' : `#${before}`;
}

function streamsIntoOwnRun(session: SessionId): AgentError {
  const message = `Cannot stream to session ${session} from a tool of its own run: the run waits for the tool. Report progress with update(…), or pass another session: streamingContext({ session })`;
  return new AgentError('bad_option', message, { session });
}

type SelectedRun = Pick<RunInActivityOptions, 'runId' | 'replaces'>;

/** Returns the run to use: the run of a dead attempt, or a new run that replaces a failed run. */
async function selectRun(
  log: Log,
  session: SessionId,
  base: string,
  attempt: number,
): Promise<SelectedRun> {
  let last: RunId | undefined;
  let replaces: RunId | undefined;
  if (attempt > 1 && (await log.info(session)) !== undefined)
    for await (const { fact } of recordsOf(log, session)) {
      if (fact?.type === 'run_started' && fact.runId.startsWith(`${base}:`)) last = fact.runId;
      const isOver = fact?.type === 'run_finished' && fact.runId === last;
      if (!isOver || fact.stop.reason === 'stop') continue;
      // The log keeps the output of an interrupted run, so a retry replaces only a failed run.
      replaces = fact.stop.reason === 'error' ? last : undefined;
      last = undefined;
    }
  return { runId: last ?? runId(`${base}:${attempt}`), replaces };
}

async function* recordsOf(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { through, records } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}
