import { AgentError, createAgent } from '@millrace/agent';
import { type LogRecord, type RunId, runId, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { Context } from '@temporalio/activity';
import type { Sent } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { living } from './heartbeat.ts';
import { handFedProvider, type OpenStream } from './manual-provider.ts';
import { type RunHereOptions, runHere } from './run-in-activity.ts';

export interface StreamingContextOptions {
  readonly log: Log;
  /** Where it is streamed to: the task that came with the activity, else the workflow's id. */
  readonly session?: string | undefined;
  /** Who says it. */
  readonly name?: string | undefined;
}

/**
 * In an activity of one's own: streams what the work writes to the log, and gives it back settled. It
 * closes itself: what was written until a throw is kept as partial, and the throw goes on. The next try,
 * after a throw or the death of a worker, replaces what was written by its own words. Where somebody else
 * writes to the session, the work begins when that one is through.
 */
export async function streamingContext(
  { log, session: given, name = 'streaming context' }: StreamingContextOptions,
  work: (stream: OpenStream) => Promise<void>,
): Promise<Sent> {
  const context = Context.current();
  const { info } = context;
  const { workflowId = '', runId: life = '' } = info.workflowExecution ?? {};
  const session = sessionId(given ?? currentIds().task ?? workflowId);
  const { provider, thrown } = handFedProvider(work);
  const agent = createAgent({ ...{ name, provider, log }, retry: { maxAttempts: 1 } });
  const base = `${life}:${info.activityId}${placeIn(context)}`;
  const ofWorkflow = `temporal workflow ${workflowId}`;
  const onHeld = (holder: string) => {
    // The run waits for its tool: who waited for the run would wait for ever.
    const isOwnRun = info.activityType === 'millraceCall' && holder.startsWith(`${ofWorkflow} [`);
    if (isOwnRun) throw inOwnRun(session);
  };
  const sent = await living(async (signals) =>
    runHere(agent, {
      ...{ session, items: [], key: base, signals, startsTurn: true, onHeld },
      ...(await runFor(log, session, base, info.attempt)),
      claim: {
        ...{ owner: `${ofWorkflow}, activity ${base}`, life: base },
        attempt: info.attempt,
      },
    }),
  );
  const failed = thrown();
  if (failed !== undefined) throw failed.error;
  return sent;
}

const opened = new WeakMap<Context, number>();

/** An activity may have several, one after the other: its next try opens them in the same order. */
function placeIn(context: Context): string {
  const before = opened.get(context) ?? 0;
  opened.set(context, before + 1);
  return before === 0 ? '' : `#${before}`;
}

function inOwnRun(session: SessionId): AgentError {
  const message = `Cannot stream to session ${session} from a tool that is called in it: the run waits for the tool. Tell what it does by update(…), or give streamingContext({ session }) another one`;
  return new AgentError('bad_option', message, { session });
}

type RunFor = Pick<RunHereOptions, 'runId' | 'replaces'>;

/** Goes on with what a dead try left, and begins anew in the place of one that threw. */
async function runFor(
  log: Log,
  session: SessionId,
  base: string,
  attempt: number,
): Promise<RunFor> {
  let last: RunId | undefined;
  let replaces: RunId | undefined;
  if (attempt > 1 && (await log.info(session)) !== undefined)
    for await (const { fact } of recordsOf(log, session)) {
      if (fact?.type === 'run_started' && fact.runId.startsWith(`${base}:`)) last = fact.runId;
      const isOver = fact?.type === 'run_finished' && fact.runId === last;
      if (!isOver || fact.stop.reason === 'stop') continue;
      // What somebody stopped is kept, as he was told.
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
