import {
  type AgentEvent,
  type Batch,
  encodeEvent,
  type FoldState,
  type LogRecord,
  toArray,
  type View,
} from '@millrace/core';
import {
  DeniedCalls,
  encodeChunk,
  encodeFrame,
  finishChunks,
  hideCalls,
  isStepItem,
  joinParkedRuns,
  type ParkedState,
  recordChunks,
  restateMessage,
  restateStep,
  type UiChunk,
  uiDone,
  waitsForClient,
} from '@millrace/core/streams';
import type { RunResult, UiStreamOptions } from '../contract/run.ts';
import { endsEarlierRun, isOwn } from './earlier-run.ts';
import { type RunEventSource, runEvents, runView } from './run-views.ts';

/** A record with the states before and after it. */
interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

const stepView: View<Step> = (before, record, after) => [{ before, record, after }];

/** Returns the frames of an event stream that contains the events of a run. */
export async function* eventFrames(
  source: RunEventSource,
  result: Promise<RunResult>,
): AsyncGenerator<string> {
  let last: AgentEvent | undefined;
  for await (const event of runEvents(source)) {
    last = event;
    yield encodeFrame({ id: `${event.offset}`, data: encodeEvent(event) });
  }
  if (source.left?.aborted || last?.type === 'run_finished') return;
  // The log has no end of the run, because the run could not start, or because a different process drives it
  // now. The frame has no id, because it does not come from the log.
  const { session, error } = await result;
  if (error === undefined) return;
  yield encodeFrame({ data: JSON.stringify({ session, type: 'error', error }) });
}

/**
 * Returns the frames of an event stream that contains one message, in the format that clients of the AI SDK
 * read.
 */
export async function* uiMessageFrames(
  source: RunEventSource,
  result: Promise<RunResult>,
  { messageId, onError }: UiStreamOptions,
): AsyncGenerator<string> {
  for await (const chunk of messageOf(source, result, messageId)) {
    const isError = chunk.type === 'error' && onError !== undefined;
    const shown = isError ? withErrorText(chunk, await result, onError) : chunk;
    yield encodeFrame({ data: encodeChunk(shown) });
  }
  if (!source.left?.aborted) yield encodeFrame({ data: uiDone });
}

/**
 * Returns the error chunk with the text that the program's function returns. If that function throws, the
 * chunk is returned unchanged.
 */
function withErrorText(
  chunk: UiChunk,
  { error }: RunResult,
  onError: NonNullable<UiStreamOptions['onError']>,
): UiChunk {
  if (error === undefined) return chunk;
  try {
    return { type: 'error', errorText: String(onError(error)) };
  } catch {
    return chunk;
  }
}

/**
 * Returns the chunks of one message. A follow-up starts a new run, which continues the message. The end of
 * the message is therefore sent only if no further run follows. A run that continues a parked run also
 * continues its message.
 */
async function* messageOf(
  source: RunEventSource,
  result: Promise<RunResult>,
  messageId: string | undefined,
): AsyncGenerator<UiChunk> {
  const initial = await source.initialState.catch(() => undefined);
  const message = new MessageStream(messageId, source.answered());
  if (initial !== undefined) yield* messageFrom(source, withParkedRun(initial), message);
  if (source.left?.aborted) return;
  if (message.isWaiting) {
    // The client sends its answer after the stream has ended. The session must then be free for
    // `agent.resume`.
    if (source.parks?.() === true) await result;
    yield* finishChunks({ reason: 'parked' });
    return;
  }
  // If the log has no end of the run, the run could not start, or a different process drives it now.
  yield* message.end ?? finishChunks((await result).stop);
}

async function* messageFrom(
  source: RunEventSource,
  initial: FoldState,
  message: MessageStream,
): AsyncGenerator<UiChunk> {
  const { session, run } = initial;
  // If the client already shows the message, it already has the records up to this offset.
  const shownThrough = message.isShown ? source.through() : initial.through;
  // The questions up to this offset may already have an answer.
  const knownThrough = (await source.log.info(session))?.through ?? 0;
  const isOpen = !endsEarlierRun(source, initial.through);
  if (shownThrough <= initial.through && isOpen) yield* message.open(initial);
  let parked: ParkedState = { run, isParked: isAsking(initial) };
  const withoutParks = (batch: Batch): Batch => {
    const { joined, after } = joinParkedRuns(batch.records, parked);
    parked = after;
    return { ...batch, records: joined.flatMap((one) => (one.isParkBoundary ? [] : one.record)) };
  };
  const fromInitial = { ...source, initialState: Promise.resolve(initial) };
  const steps = runView(fromInitial, () => stepView, withoutParks);
  const ends = (offset: number) => message.isWaiting && offset >= knownThrough;
  if (ends(initial.through)) return;
  if (!isOpen && initial.through >= knownThrough) yield* message.showQuestion(initial);
  if (message.isWaiting) return;
  for await (const step of steps) {
    const { offset } = step.record;
    message.learn(step.record);
    if (!isOwn(source, offset)) {
      if (offset >= knownThrough) yield* message.showQuestion(step.after);
      if (message.isWaiting) return;
      continue;
    }
    if (offset < shownThrough) continue;
    if (offset === shownThrough) yield* message.open(step.after);
    else yield* message.add(step);
    if (ends(offset)) return;
  }
}

/** Returns the state of a parked session in the form that it had before its run ended. */
function withParkedRun(state: FoldState): FoldState {
  if (state.run !== undefined || !isAsking(state)) return state;
  return { ...state, run: toArray(state.items).findLast(isStepItem)?.run };
}

/** Returns true if calls wait for an approval or for a client that runs them. */
function isAsking({ asked, awaited }: FoldState): boolean {
  return asked.length > 0 || awaited.length > 0;
}

/** Converts the records of one or more runs to the chunks of one message. */
class MessageStream {
  /** True if a client already shows the message. */
  readonly isShown: boolean;
  readonly #messageId: string | undefined;
  /** The calls that already have an answer. On the log, their questions may still be open. */
  readonly #answered: Set<string>;
  readonly #denied = new DeniedCalls();
  #isStarted = false;
  #state: FoldState | undefined;
  /** The last chunks of the message. They are sent if no further run starts. */
  end: readonly UiChunk[] | undefined;

  constructor(messageId: string | undefined, answered: readonly string[]) {
    this.#messageId = messageId;
    this.#answered = new Set(answered);
    this.isShown = messageId !== undefined;
  }

  /**
   * True if the run waits for an answer of the client. Clients send their answer after the stream has ended.
   */
  get isWaiting(): boolean {
    const state = this.#state;
    return this.#isStarted && state !== undefined && this.#isAsking(state);
  }

  #isAsking(state: FoldState): boolean {
    const isAnswered = [...state.asked, ...state.awaited].some((one) =>
      this.#answered.has(one.toolCallId),
    );
    return waitsForClient(state) && !isAnswered;
  }

  /**
   * Returns the whole message of an earlier run if that run waits for the client. The client must answer
   * before the stream's own run can start.
   */
  showQuestion(state: FoldState): readonly UiChunk[] {
    return this.#isAsking(state) ? this.open(state) : [];
  }

  /**
   * Remembers the id of a call whose answer is in a queued command. The run has not handled this command yet.
   */
  learn({ fact }: LogRecord): void {
    if (fact?.type !== 'command_queued') return;
    const { type, toolCallId } = fact.command;
    const isAnswer = type === 'approve' || type === 'deny' || type === 'tool_output';
    if (isAnswer && typeof toolCallId === 'string') this.#answered.add(toolCallId);
  }

  /**
   * Returns the chunks that start the message. If the client already shows the message, they contain only its
   * last step. Otherwise they contain the whole message.
   */
  open(state: FoldState): readonly UiChunk[] {
    if (state.run === undefined || this.#isStarted) return [];
    this.#isStarted = true;
    this.#state = state;
    this.#denied.addAsked(state);
    if (this.#messageId === undefined) return restateMessage(state);
    // If a client already shows the message, it has answered the questions and run the calls of the message.
    for (const { toolCallId } of state.asked) this.#answered.add(toolCallId);
    const ran = new Set<string>(state.awaited.map(({ toolCallId }) => toolCallId));
    for (const id of ran) this.#answered.add(id);
    return [{ type: 'start', messageId: this.#messageId }, ...hideCalls(restateStep(state), ran)];
  }

  add({ before, record, after }: Step): readonly UiChunk[] {
    const opening = this.open(before);
    this.#denied.add(record);
    const chunks = this.#denied.continued(recordChunks(before, record, after));
    const type = record.fact?.type;
    this.#state = after;
    if (type === 'run_finished') {
      this.end = chunks;
      return opening;
    }
    if (type === 'run_started') return this.#start(chunks);
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
