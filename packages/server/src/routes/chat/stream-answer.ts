import { type AskedApproval, type FoldState, toArray } from '@millrace/core';
import type { Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { encodeComment, encodeFrame } from '../../stream/frames/sse.ts';
import { finishChunks, recordChunks, restateMessage } from '../../ui/record-chunks.ts';
import type { UiChunk } from '../../ui/ui-chunk.ts';
import { encodeChunk, uiDone, uiHeaders } from '../../ui/ui-view.ts';
import { type ChatState, type ChatStep, foldChat } from './chat-state.ts';

/** One message of a chat, from some place on to its end. */
export interface AnswerStream {
  /** Where to read on from. */
  readonly from: ChatState;
  /** What is told first, at once. Without it, what is there by the step that `begins` it is. */
  readonly opening?: readonly UiChunk[] | undefined;
  /** Until then it is about something else. Throws where nothing will come. */
  readonly isStart?: ((step: ChatStep) => boolean) | undefined;
  /** Calls that were just answered: though they are still asked about, nobody waits for that. */
  readonly answeredCalls?: ReadonlySet<string> | undefined;
}

/** As the AI SDK's stream. It ends with the message, or where that waits for people. */
export function streamAnswer(telling: AnswerStream, context: RouteContext): StreamReply {
  const { log, clock, closing, toServerError } = context;
  return new StreamReply((response) => {
    response.writeHead(200, { ...uiHeaders });
    response.flushHeaders();
    const left = new AbortController();
    response.once('close', () => left.abort());
    return writeLines(response, linesOf(log, telling, left.signal), {
      closing,
      heartbeat: { clock, everyMs: heartbeatMs, text: encodeComment('ping') },
      line: (data) => encodeFrame({ data }),
      errorLine: (error) => {
        const errorText = toServerError(error).message;
        return encodeFrame({ data: JSON.stringify({ type: 'error', errorText }) });
      },
    });
  });
}

const heartbeatMs = 15_000;

async function* linesOf(
  log: Log,
  telling: AnswerStream,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const chunks of chunksOf(log, telling, signal)) yield* chunks.map(encodeChunk);
  if (!signal.aborted) yield uiDone;
}

async function* chunksOf(
  log: Log,
  { from, opening, isStart, answeredCalls = new Set() }: AnswerStream,
  signal: AbortSignal,
): AsyncGenerator<readonly UiChunk[]> {
  let isTelling = opening !== undefined;
  if (opening !== undefined) yield opening;
  const isAwaited = ({ toolCallId }: AskedApproval) => answeredCalls.has(toolCallId);
  // A client whose answers were not heard at the end of a stream would send them again, and again.
  const isOver = ({ fold }: ChatState) => waitsForApproval(fold) && !fold.asked.some(isAwaited);
  if (isTelling && isOver(from)) return yield parkedEnd;
  let state = from;
  const { session } = from.fold;
  for await (const batch of log.follow(session, { from: from.through, signal })) {
    const { state: next, steps } = foldChat(state, batch);
    state = next;
    for (const step of steps) {
      if (!isTelling && isStart?.(step) !== true) continue;
      yield isTelling ? chunksOfStep(step) : restateMessage(step.after.fold);
      isTelling = true;
      if (isOver(step.after)) return yield parkedEnd;
      if (step.record.fact?.type === 'run_finished' && !step.isSeam) return;
    }
  }
  if (!signal.aborted) throw logClosed(session);
}

const parkedEnd = finishChunks({ reason: 'parked' });

function chunksOfStep({ before, record, after, isSeam }: ChatStep): readonly UiChunk[] {
  return isSeam ? [] : recordChunks(before.fold, record, after.fold);
}

function logClosed(session: string): ServerError {
  const message = `Cannot go on with the answer of task ${session}: its log was closed. Ask for it again later`;
  return new ServerError('unavailable', message, { session });
}

/**
 * Does nothing go on any more before somebody answers? The AI SDK's client sends answers when a stream
 * has ended, so that this is where one has to.
 */
function waitsForApproval({ run, asked, items }: FoldState): boolean {
  const turn = asked[0]?.turn;
  if (run === undefined || turn === undefined) return false;
  const ours = toArray(items).filter((item) => item.turn === turn);
  if (ours.some(({ kind, finished }) => kind === 'assistant' && finished === undefined))
    return false;
  const parts = ours.flatMap((item) => item.parts.flatMap(({ part }) => part ?? []));
  const settled = new Set<string>(asked.map(({ toolCallId }) => toolCallId));
  for (const part of parts) if (part.kind === 'tool_result') settled.add(part.toolCallId);
  return parts.every((part) => part.kind !== 'tool_call' || settled.has(part.toolCallId));
}
