import type { AskedApproval } from '@millrace/core';
import {
  DeniedCalls,
  encodeChunk,
  encodeComment,
  encodeFrame,
  finishChunks,
  recordChunks,
  restateMessage,
  type UiChunk,
  uiDone,
  uiHeaders,
  waitsForClient,
} from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { RefusedRecords } from '../../inspection/refused-records.ts';
import { type ChatState, type ChatStep, foldChat } from './chat-state.ts';

/**
 * Describes one answer of a chat: where to start reading the log, and how to detect the start of the answer.
 */
export interface AnswerStream {
  /** The state from which reading continues. */
  readonly from: ChatState;
  /**
   * Chunks to send first. Default: all chunks of the answer up to the step for which `isStart`
   * returns true.
   */
  readonly opening?: readonly UiChunk[] | undefined;
  /**
   * Returns true for the first step of the answer. Earlier steps are skipped. Throws if the message will get
   * no answer. Default: the answer starts immediately.
   */
  readonly isStart?: ((step: ChatStep) => boolean) | undefined;
  /**
   * The calls that the client has just answered. The stream does not stop for them, even if the log still
   * shows them as pending.
   */
  readonly answeredCalls?: ReadonlySet<string> | undefined;
  /** The calls that were denied before the state `from`. Default: none. */
  readonly denied?: DeniedCalls | undefined;
  /** The key of the queued message that the answer belongs to. Default: the message was not queued. */
  readonly key?: string | undefined;
}

/** Options for an answer whose client disconnects. */
interface StreamOptions {
  /** Stops the answer. It is called only if the client disconnects before the stream has ended. */
  readonly onLeave?: ((left: LeftAnswer) => Promise<void>) | undefined;
}

/** An answer whose client has disconnected. */
export interface LeftAnswer {
  /** True if the agent has started to answer. */
  readonly isStarted: boolean;
}

/**
 * Streams an answer in the AI SDK's format. The stream ends when the message is complete, or when it waits
 * for an approval.
 */
export function streamAnswer(
  answer: AnswerStream,
  { onLeave }: StreamOptions,
  context: RouteContext,
): StreamReply {
  const { log, clock, closing, toServerError } = context;
  return new StreamReply(
    async (response) => {
      const progress = { isStarted: false, isOver: false };
      response.writeHead(200, { ...uiHeaders });
      response.flushHeaders();
      const disconnected = new AbortController();
      response.once('close', () => disconnected.abort());
      if (response.destroyed) disconnected.abort();
      await writeLines(response, linesOf(log, answer, progress, disconnected.signal), {
        context,
        heartbeat: { clock, everyMs: heartbeatMs, text: `${encodeComment('ping')}\n` },
        line: (data) => encodeFrame({ data }),
        errorLine: (error) => {
          const errorText = toServerError(error).message;
          return encodeFrame({ data: JSON.stringify({ type: 'error', errorText }) });
        },
      });
      // A server that closes does not stop the answer, because the answer continues after the restart.
      if (disconnected.signal.aborted && !progress.isOver && !closing.aborted)
        await onLeave?.(progress);
    },
    { isReplay: true },
  );
}

const heartbeatMs = 15_000;

async function* linesOf(
  log: Log,
  answer: AnswerStream,
  progress: { isStarted: boolean; isOver: boolean },
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const chunks of chunksOf(log, answer, signal)) {
    progress.isStarted = true;
    yield* chunks.map(encodeChunk);
  }
  if (signal.aborted) return;
  progress.isOver = true;
  yield uiDone;
}

async function* chunksOf(
  log: Log,
  { from, opening, isStart, answeredCalls = new Set(), denied = new DeniedCalls() }: AnswerStream,
  signal: AbortSignal,
): AsyncGenerator<readonly UiChunk[]> {
  let isStreaming = opening !== undefined;
  denied.addAsked(from.fold);
  if (opening !== undefined) yield denied.restated(opening);
  const wasAnswered = ({ toolCallId }: Pick<AskedApproval, 'toolCallId'>) =>
    answeredCalls.has(toolCallId);
  // A call that the client has just answered does not end the stream. Otherwise the client would send the
  // same answers repeatedly.
  const isWaiting = ({ fold }: ChatState) =>
    waitsForClient(fold) && ![...fold.asked, ...fold.awaited].some(wasAnswered);
  if (isStreaming && isWaiting(from)) return yield parkedEnd;
  let state = from;
  const { session } = from.fold;
  const refused = await RefusedRecords.read(log, session, from.through);
  for await (const batch of log.follow(session, { from: from.through, signal })) {
    const { state: next, steps } = foldChat(state, refused.without(batch));
    state = next;
    for (const step of steps) {
      denied.add(step.record);
      if (!isStreaming && isStart?.(step) !== true) continue;
      yield isStreaming
        ? denied.continued(chunksOfStep(step))
        : denied.restated(restateMessage(step.after.fold));
      isStreaming = true;
      if (isWaiting(step.after)) return yield parkedEnd;
      if (step.record.fact?.type === 'run_finished' && !step.isParkBoundary) return;
    }
  }
  if (!signal.aborted) throw logClosed(session);
}

const parkedEnd = finishChunks({ reason: 'parked' });

function chunksOfStep({ before, record, after, isParkBoundary }: ChatStep): readonly UiChunk[] {
  return isParkBoundary ? [] : recordChunks(before.fold, record, after.fold);
}

function logClosed(session: string): ServerError {
  const message = `Cannot continue the answer of task ${session}: its log was closed. Retry later`;
  return new ServerError('unavailable', message, { session });
}
