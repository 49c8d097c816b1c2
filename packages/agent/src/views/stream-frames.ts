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
import type { RunResult } from '../contract/run.ts';
import { type RunEventSource, runEvents, runView } from './run-views.ts';

/** A record with the states before and after it. */
interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

const stepView: View<Step> = (before, record, after) => [{ before, record, after }];

/** The frames of an event stream with the events of a run. */
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
  // Without an end on the log, the run could not start, or another process has it now. The frame has
  // no id, because it is not from the log.
  const { session, error } = await result;
  if (error === undefined) return;
  yield encodeFrame({ data: JSON.stringify({ session, type: 'error', error }) });
}

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
 * run is sent only when nothing follows it. A run that continues a parked one continues its message.
 */
async function* messageOf(
  source: RunEventSource,
  result: Promise<RunResult>,
  messageId: string | undefined,
): AsyncGenerator<UiChunk> {
  const initial = await source.initialState.then(withParkedRun, () => undefined);
  const message = new MessageStream(messageId, source.answered());
  if (initial !== undefined) yield* messageFrom(source, initial, message);
  if (source.left?.aborted) return;
  if (message.isWaiting) {
    // The client answers when the stream has ended. Then the session must be free for `agent.resume`.
    if (source.parks?.() === true) await result;
    yield* finishChunks({ reason: 'parked' });
    return;
  }
  // Without an end on the log, the run could not start, or another process has it now.
  yield* message.end ?? finishChunks((await result).stop);
}

async function* messageFrom(
  source: RunEventSource,
  initial: FoldState,
  message: MessageStream,
): AsyncGenerator<UiChunk> {
  const { session, run } = initial;
  // A client that shows the message already has the records up to here.
  const shownThrough = message.isShown ? source.through() : initial.through;
  // Questions up to here may have been answered since.
  const knownThrough = (await source.log.info(session))?.through ?? 0;
  if (shownThrough <= initial.through) yield* message.open(initial);
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
  for await (const step of steps) {
    const { offset } = step.record;
    message.learn(step.record);
    if (offset < shownThrough) continue;
    if (offset === shownThrough) yield* message.open(step.after);
    else yield* message.add(step);
    if (ends(offset)) return;
  }
}

/** The state of a parked session as if its run went on. */
function withParkedRun(state: FoldState): FoldState {
  if (state.run !== undefined || !isAsking(state)) return state;
  return { ...state, run: toArray(state.items).findLast(isStepItem)?.run };
}

/** True if calls wait for an approval or for a client that runs them. */
function isAsking({ asked, awaited }: FoldState): boolean {
  return asked.length > 0 || awaited.length > 0;
}

/** Converts the records of one or more runs to the chunks of one message. */
class MessageStream {
  /** A client shows the message already. */
  readonly isShown: boolean;
  readonly #messageId: string | undefined;
  /** Calls that were answered, although their questions may still be open on the log. */
  readonly #answered: Set<string>;
  #isStarted = false;
  #state: FoldState | undefined;
  /** The last chunks, if no further run starts. */
  end: readonly UiChunk[] | undefined;

  constructor(messageId: string | undefined, answered: readonly string[]) {
    this.#messageId = messageId;
    this.#answered = new Set(answered);
    this.isShown = messageId !== undefined;
  }

  /** True if the run waits for the client. Clients send their answer after the stream has ended. */
  get isWaiting(): boolean {
    const state = this.#state;
    if (!this.#isStarted || state === undefined) return false;
    const isAnswered = [...state.asked, ...state.awaited].some((one) =>
      this.#answered.has(one.toolCallId),
    );
    return waitsForClient(state) && !isAnswered;
  }

  /** Remembers an answer that the run has not read yet. */
  learn({ fact }: LogRecord): void {
    if (fact?.type !== 'command_queued') return;
    const { type, toolCallId } = fact.command;
    const isAnswer = type === 'approve' || type === 'deny' || type === 'tool_output';
    if (isAnswer && typeof toolCallId === 'string') this.#answered.add(toolCallId);
  }

  /** Starts within a run: with the whole message, or with its last step if the client shows it. */
  open(state: FoldState): readonly UiChunk[] {
    if (state.run === undefined || this.#isStarted) return [];
    this.#isStarted = true;
    this.#state = state;
    if (this.#messageId === undefined) return restateMessage(state);
    // A client that shows the message has answered its questions and run its calls.
    for (const { toolCallId } of state.asked) this.#answered.add(toolCallId);
    const ran = new Set<string>(state.awaited.map(({ toolCallId }) => toolCallId));
    for (const id of ran) this.#answered.add(id);
    return [{ type: 'start', messageId: this.#messageId }, ...hideCalls(restateStep(state), ran)];
  }

  add({ before, record, after }: Step): readonly UiChunk[] {
    const opening = this.open(before);
    const chunks = recordChunks(before, record, after);
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
