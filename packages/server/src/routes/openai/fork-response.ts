import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DraftRecord, FoldState } from '@millrace/core';
import { type ForkOptions, readBackward } from '@millrace/log';
import { commandKey } from '../../agents/loops/loop-commands.ts';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, requestMetadata } from '../../http/route.ts';
import { readChatNear } from '../chat/chat-state.ts';
import type { InputEntry } from './input-items.ts';
import { notFound } from './openai-error.ts';
import { openStored, type ResponseStep, readQuestion } from './response-log.ts';
import { parseResponseId, StartFinder } from './response-starts.ts';

/** The place in a session at which a request continues. */
export interface Place {
  /** The state of the session at this place. Its oldest items can be missing. */
  readonly fold: FoldState;
  /** The records that a fork of the session copies. Undefined if the request continues the session itself. */
  readonly fork?: Omit<ForkOptions, 'into'>;
}

interface Continued {
  readonly taskId: string;
  /** The id of the response that the request continues. Undefined if it names only the session. */
  readonly previous: string | undefined;
  readonly entries: readonly InputEntry[];
}

/**
 * Finds the place at which a request continues. It is the end of the session, or the end of an earlier response.
 *
 * A request forks the session in two cases: the session got another message or run after the previous response of
 * the request, or the request sends different outputs for tools that the caller runs. Answers to approvals never
 * fork. Otherwise a second answer would run a tool of the agent again.
 */
export async function findPlace(
  { taskId, previous, entries }: Continued,
  context: Pick<RouteContext, 'log' | 'headers' | 'trace' | 'copies'>,
): Promise<Place> {
  const { log, copies } = context;
  const isApproval = entries.some(({ type }) => type === 'approval');
  if (previous === undefined || isApproval) return readChatNear(log, taskId);
  if (!(await isLastResponse(previous, taskId, context))) {
    // A repeated request finds the copy of the first request, even if the caller cannot copy more.
    if (requestMetadata(context).key === undefined) copies?.assertFree();
    else copies?.assertIdle();
    // A fork does not need the end of the session, so it is not read.
    return endOf(previous, context);
  }
  const current = await readChatNear(log, taskId);
  const outputs = entries.flatMap((entry) => (entry.type === 'output' ? entry.callId : []));
  if (outputs.length === 0 || outputs.some((call) => waitsFor(current.fold, call))) return current;
  const end = await endOf(previous, context);
  // Only outputs of calls that waited at the end of the response can be given again.
  return outputs.every((call) => waitsFor(end.fold, call)) ? end : current;
}

function waitsFor({ awaited }: FoldState, call: string): boolean {
  return awaited.some(({ toolCallId }) => toolCallId === call);
}

/**
 * Returns whether the session got no other message and no other run after a response. It reads each record after
 * the response at most once.
 */
async function isLastResponse(
  id: string,
  taskId: string,
  context: Pick<RouteContext, 'log' | 'headers' | 'trace'>,
): Promise<boolean> {
  const { log } = context;
  const { offset = 0 } = parseResponseId(id) ?? {};
  const { through = 0 } = (await log.info(taskId)) ?? {};
  if (offset > through) throw notFound('Previous response', id, 'previous_response_id');
  const { key } = requestMetadata(context);
  const finder = new StartFinder();
  let isLast = true;
  for await (const records of readBackward(log, taskId, { maxRecords: through - offset })) {
    for (const record of records.toReversed()) {
      const { fact } = record;
      finder.add(record);
      if (fact?.type !== 'command_queued' || fact.command['type'] !== 'message') continue;
      // The message of a repeated request is already in the session.
      if (key !== undefined && fact.key === commandKey(key)) return true;
      isLast = false;
    }
    if (!isLast && key === undefined) return false;
    await nextTurn();
  }
  return isLast && finder.newest?.by !== 'run';
}

/** Returns the place at the end of a response. Throws `bad_state` if the response has no end yet. */
async function endOf(id: string, { log }: Pick<RouteContext, 'log'>): Promise<Required<Place>> {
  const ref = parseResponseId(id) ?? { taskId: '', offset: 0 };
  const { steps } = await openStored(await readQuestion(ref, log), log, { keepsRetracted: true });
  const last = steps.at(-1);
  if (last?.end === undefined) throw notOver(id);
  // The next message ends the response if the same run answers it. The fork does not get this message.
  const { fact } = last.record;
  const isNext = fact?.type === 'command_consumed';
  const { fold, queue, through } = isNext ? last.before : last.after;
  const runEnd = isNext && fold.run !== undefined ? [runFinished(last, fold.run)] : [];
  // The original session answers the other messages that waited at this moment. The fork only consumes them.
  const consumed = queue.map(({ key }) => draft({ type: 'command_consumed', key }));
  return { fold, fork: { through, append: [...consumed, ...runEnd] } };
}

function runFinished({ end }: ResponseStep, runId: NonNullable<FoldState['run']>): DraftRecord {
  return draft({ type: 'run_finished', runId, stop: end?.stop ?? { reason: 'stop' } });
}

function draft(fact: NonNullable<DraftRecord['fact']>): DraftRecord {
  return { turn: 0, attempt: 0, fact };
}

function notOver(id: string): ServerError {
  const message = `Cannot continue ${JSON.stringify(id.slice(0, 256))}: it is not complete, and other messages wait behind it. Wait for its end, or cancel it`;
  const details = { param: 'previous_response_id', reason: 'response_not_complete' };
  return new ServerError('bad_state', message, {}, { details });
}
