import type { AskedApproval } from '@millrace/core';
import type { Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import { StreamReply } from '../../http/reply.ts';
import type { RouteContext } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { encodeComment, encodeFrame } from '../../stream/sse.ts';
import { readableLine } from '../../ui/readable-line.ts';
import { endChunks } from '../../ui/run-chunks.ts';
import type { UiChunk } from '../../ui/ui-chunk.ts';
import { uiChunksOf, uiRestatement } from '../../ui/ui-chunks.ts';
import { uiDone, uiHeaders } from '../../ui/ui-view.ts';
import { type ChatState, type ChatStep, foldChat } from './fold-chat.ts';
import { waitsForPeople } from './waits-for-people.ts';

/** One message of a chat, from some place on to its end. */
export interface Telling {
  /** Where to read on from. */
  readonly from: ChatState;
  /** What is told first, at once. Without it, what is there by the step that `begins` it is. */
  readonly opening?: readonly UiChunk[] | undefined;
  /** Until then it is about something else. Throws where nothing will come. */
  readonly begins?: ((step: ChatStep) => boolean) | undefined;
  /** Calls that were just answered: though they are still asked about, nobody waits for that. */
  readonly ruled?: ReadonlySet<string> | undefined;
}

/** As the AI SDK's stream. It ends with the message, or where that waits for people. */
export function tellChat(telling: Telling, context: RouteContext): StreamReply {
  const { log, clock, closing, toRefusal } = context;
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
        const errorText = toRefusal(error).message;
        return encodeFrame({ data: JSON.stringify({ type: 'error', errorText }) });
      },
    });
  });
}

const heartbeatMs = 15_000;

async function* linesOf(log: Log, telling: Telling, signal: AbortSignal): AsyncGenerator<string> {
  for await (const chunks of chunksOf(log, telling, signal)) yield* chunks.map(readableLine);
  if (!signal.aborted) yield uiDone;
}

async function* chunksOf(
  log: Log,
  { from, opening, begins, ruled = new Set() }: Telling,
  signal: AbortSignal,
): AsyncGenerator<readonly UiChunk[]> {
  let isTelling = opening !== undefined;
  if (opening !== undefined) yield opening;
  const isAwaited = ({ toolCallId }: AskedApproval) => ruled.has(toolCallId);
  // A client whose answers were not heard at the end of a stream would send them again, and again.
  const isOver = ({ fold }: ChatState) => waitsForPeople(fold) && !fold.asked.some(isAwaited);
  if (isTelling && isOver(from)) return yield parked;
  let state = from;
  const { session } = from.fold;
  for await (const batch of log.follow(session, { from: from.through, signal })) {
    const { state: next, steps } = foldChat(state, batch);
    state = next;
    for (const step of steps) {
      if (!isTelling && begins?.(step) !== true) continue;
      yield isTelling ? chunksOfStep(step) : uiRestatement(step.after.fold);
      isTelling = true;
      if (isOver(step.after)) return yield parked;
      if (step.record.fact?.type === 'run_finished' && !step.isSeam) return;
    }
  }
  if (!signal.aborted) throw noEnd(session);
}

const parked = endChunks({ reason: 'parked' });

function chunksOfStep({ before, record, after, isSeam }: ChatStep): readonly UiChunk[] {
  return isSeam ? [] : uiChunksOf(before.fold, record, after.fold);
}

function noEnd(session: string): ServerError {
  const message = `Cannot go on with the answer of task ${session}: its log was closed. Ask for it again later`;
  return new ServerError('unavailable', message, { session });
}
