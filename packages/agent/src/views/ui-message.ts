import type { FoldState, LogRecord, View } from '@millrace/core';
import {
  encodeChunk,
  encodeFrame,
  finishChunks,
  recordChunks,
  restateMessage,
  restateStep,
  type UiChunk,
  uiDone,
  waitsForApproval,
} from '@millrace/core/streams';
import type { RunResult } from '../contract/run.ts';
import { type RunEventSource, runView } from './run-views.ts';

/** A record with the states before and after it. */
interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

const stepView: View<Step> = (before, record, after) => [{ before, record, after }];

/** The frames of an event stream with one message, as the AI SDK's clients read it. */
export async function* uiMessageFrames(
  source: RunEventSource,
  result: Promise<RunResult>,
  messageId: string | undefined,
): AsyncGenerator<string> {
  for await (const chunk of messageOf(source, result, messageId))
    yield encodeFrame({ data: encodeChunk(chunk) });
  if (!source.left?.aborted) yield encodeFrame({ data: uiDone });
}

/**
 * The chunks of one message. Follow-ups start further runs; they continue the message, so the end of a
 * run is sent only when nothing follows it.
 */
async function* messageOf(
  source: RunEventSource,
  result: Promise<RunResult>,
  messageId: string | undefined,
): AsyncGenerator<UiChunk> {
  const initial = await source.initialState.catch(() => undefined);
  const message = new MessageStream(messageId);
  // A client that shows the message already has the records up to here.
  const shownThrough = messageId === undefined ? (initial?.through ?? 0) : source.through();
  if (initial !== undefined && shownThrough <= initial.through) yield* message.open(initial);
  if (message.isWaiting) return yield* finishChunks({ reason: 'parked' });
  for await (const step of runView(source, stepView)) {
    if (step.record.offset < shownThrough) continue;
    if (step.record.offset === shownThrough) yield* message.open(step.after);
    else yield* message.add(step);
    if (message.isWaiting) return yield* finishChunks({ reason: 'parked' });
  }
  // Without an end on the log, the run could not start, or another process has it now.
  if (!source.left?.aborted) yield* message.end ?? finishChunks((await result).stop);
}

/** Converts the records of one or more runs to the chunks of one message. */
class MessageStream {
  readonly #messageId: string | undefined;
  #isStarted = false;
  /** Calls that waited when the stream began. A client that shows the message has answered them. */
  #answered: ReadonlySet<string> = new Set();
  /** True if the run waits for an approval. Clients send their answer after the stream has ended. */
  isWaiting = false;
  /** The last chunks, if no further run starts. */
  end: readonly UiChunk[] | undefined;

  constructor(messageId: string | undefined) {
    this.#messageId = messageId;
  }

  /** Starts within a run: with the whole message, or with its last step if the client shows it. */
  open(state: FoldState): readonly UiChunk[] {
    if (state.run === undefined || this.#isStarted) return [];
    this.#isStarted = true;
    if (this.#messageId === undefined) {
      this.isWaiting = waitsForApproval(state);
      return restateMessage(state);
    }
    this.#answered = new Set(state.asked.map(({ toolCallId }) => toolCallId));
    return [{ type: 'start', messageId: this.#messageId }, ...restateStep(state)];
  }

  add({ before, record, after }: Step): readonly UiChunk[] {
    const opening = this.open(before);
    const chunks = recordChunks(before, record, after);
    const type = record.fact?.type;
    if (type === 'run_finished') {
      this.end = chunks;
      return opening;
    }
    if (type === 'run_started') return this.#start(chunks);
    const isOpen = after.asked.some(({ toolCallId }) => this.#answered.has(toolCallId));
    this.isWaiting = !isOpen && waitsForApproval(after);
    return opening.length === 0 ? chunks : [...opening, ...chunks];
  }

  #start(chunks: readonly UiChunk[]): readonly UiChunk[] {
    this.end = undefined;
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    if (!isFirst) return [];
    const messageId = this.#messageId;
    return messageId === undefined ? chunks : [{ type: 'start', messageId }];
  }
}
