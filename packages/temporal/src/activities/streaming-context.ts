import { createAgent } from '@millrace/agent';
import { type LogRecord, type RunId, runId, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { Context } from '@temporalio/activity';
import type { Sent } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { handFedProvider, type OpenStream } from './hand-fed-provider.ts';
import { living } from './living.ts';
import { runHere } from './run-here.ts';

export interface StreamingContextOptions {
  readonly log: Log;
  /** Where it is streamed to: the task that came with the activity, else the workflow's id. */
  readonly session?: string | undefined;
  /** Who says it. */
  readonly name?: string | undefined;
}

/**
 * In an activity of one's own: streams what the work writes to the log, and gives it back settled. It
 * closes itself: what was written until a throw is kept as partial, and the throw goes on. A worker that
 * dies in it is followed by another one, whose words replace what the dead one had written.
 */
export async function streamingContext(
  { log, session: given, name = 'streaming context' }: StreamingContextOptions,
  work: (stream: OpenStream) => Promise<void>,
): Promise<Sent> {
  const { info } = Context.current();
  const { workflowId = '', runId: life = '' } = info.workflowExecution ?? {};
  const session = sessionId(given ?? currentIds().task ?? workflowId);
  const { provider, thrown } = handFedProvider(work);
  const agent = createAgent({ ...{ name, provider, log }, retry: { maxAttempts: 1 } });
  const base = `${life}:${info.activityId}`;
  const sent = await living(async (signals) =>
    runHere(agent, {
      ...{ session, items: [], key: base, signals, startsTurn: true },
      runId: await runFor(log, session, base, info.attempt),
      claim: {
        ...{ owner: `temporal workflow ${workflowId}`, life: base, step: 1 },
        attempt: info.attempt,
      },
    }),
  );
  const failed = thrown();
  if (failed !== undefined) throw failed.error;
  return sent;
}

/** Goes on with what a dead try left, and begins anew after one that threw. */
async function runFor(log: Log, session: SessionId, base: string, attempt: number): Promise<RunId> {
  let last: RunId | undefined;
  if (attempt > 1 && (await log.info(session)) !== undefined)
    for await (const record of recordsOf(log, session)) {
      const { fact } = record;
      if (fact?.type === 'run_started' && fact.runId.startsWith(`${base}:`)) last = fact.runId;
      const isOver = fact?.type === 'run_finished' && fact.runId === last;
      if (isOver && fact.stop.reason !== 'stop') last = undefined;
    }
  return last ?? runId(`${base}:${attempt}`);
}

async function* recordsOf(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { through, records } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}
