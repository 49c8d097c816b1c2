import { emptyState, Folder, type FoldState, sessionId } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { StreamReply } from '../../http/reply.ts';
import type { RouteContext } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import type { Frame } from '../../stream/frame-view.ts';
import { encodeFrame } from '../../stream/sse.ts';
import { uiDone, uiHeaders, uiView } from '../../ui/ui-view.ts';

/** A task before something is said in it. */
export async function stateBefore(log: Log, taskId: string): Promise<FoldState> {
  const session = sessionId(taskId);
  return (await log.info(session)) === undefined ? emptyState(session) : snapshot(log, session);
}

/**
 * One run as the AI SDK's message stream, to its end. `which`: the run that goes on, from its start, or
 * the next one where none does; or in any case the next one.
 */
export function toldRun(
  state: FoldState,
  which: 'going' | 'next',
  { log, closing, toRefusal }: Pick<RouteContext, 'log' | 'closing' | 'toRefusal'>,
): StreamReply {
  return new StreamReply((response) => {
    response.writeHead(200, { ...uiHeaders });
    response.flushHeaders();
    const left = new AbortController();
    response.once('close', () => left.abort());
    return writeLines(response, framesOf(log, state, which, left.signal), {
      closing,
      line: encodeFrame,
      errorLine: (error) => {
        const errorText = toRefusal(error).message;
        return encodeFrame({ data: JSON.stringify({ type: 'error', errorText }) });
      },
    });
  });
}

async function* framesOf(
  log: Log,
  state: FoldState,
  which: 'going' | 'next',
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  const folder = new Folder(state);
  let isTelling = which === 'going' && state.run !== undefined;
  if (isTelling) yield* uiView.restate(state);
  for await (const batch of log.follow(state.session, { from: state.through, signal })) {
    const frames: Frame[] = [];
    folder.addBatch(batch, (before, record, after) => {
      isTelling ||= record.fact?.type === 'run_started';
      if (isTelling) frames.push(...uiView.frames(before, record, after));
    });
    for (const frame of frames) {
      yield frame;
      if (frame.data === uiDone) return;
    }
  }
}
