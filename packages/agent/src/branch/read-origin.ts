import {
  type DraftRecord,
  Folder,
  type FoldState,
  type GuardrailVerdict,
  type ItemId,
  type LogRecord,
  type PartId,
  type SessionId,
  type ToolCallId,
  type ToolCallPart,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { emptyLoopState, type LoopState, type TurnState } from '../contract/loop-state.ts';
import { isCheckedStop } from '../guardrails/checked-items.ts';
import { usesAnswer } from '../history/open-answer.ts';
import { nextRound } from '../replay/playback.ts';
import { foldLoop } from '../state/fold-loop.ts';
import { callsOfTurn } from '../state/turn-calls.ts';

/** The place in a session at which a branch begins. */
export interface OriginPlace {
  /** The offset of the last record that the branch copies. */
  readonly through: number;
  /** The state of the session at this offset. */
  readonly state: FoldState;
  readonly loop: LoopState;
  /** The calls that the branch changes, in the order of the answer. */
  readonly changed: readonly ToolCallPart[];
  /**
   * The recorded rest of the turn: its answer and its calls, without the changed calls. Undefined if the turn
   * has no complete answer at the place, or if no turn is open.
   */
  readonly rest: readonly DraftRecord[] | undefined;
  /** The recorded data about the answer of the turn, also from records after the place. */
  readonly answer: RecordedAnswer;
  /** The message that the record belongs to: the record that starts it, and the offset of its end. */
  readonly message: { readonly start: LogRecord; readonly end: number } | undefined;
}

/** The recorded data about an answer. */
export interface RecordedAnswer {
  /** True if a guardrail removed or replaced the answer. */
  readonly isWithheld: boolean;
  /** True if the answer was aborted or failed. Guardrails do not check such an answer. */
  readonly isCut: boolean;
  /** True if the session went on with the answer. All output guardrails of its agent have then passed it. */
  readonly isUsed: boolean;
  /** The names of the guardrails that let the answer pass, or wrote it. */
  readonly passedBy: ReadonlySet<string>;
}

type CallName = Pick<ToolCallPart, 'toolCallId' | 'name'>;

/** Reads a session up to an offset, and the rest of the turn that is open there. */
export async function readOrigin(
  log: Log,
  session: SessionId,
  at: number,
  isChanged: (call: CallName) => boolean,
): Promise<OriginPlace> {
  const reader = new OriginReader(session, isChanged);
  for await (const record of recordsOf(log, session)) {
    if (record.offset <= at) reader.add(record);
    else if (!reader.addLater(record)) break;
  }
  return reader.place(at);
}

/** Yields the records of a session, page by page. */
async function* recordsOf(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const page = await log.read(session, { from });
    yield* page.records;
    if (page.through <= from) return;
    // Other work of the process runs between the pages of a long session.
    if (from > 0) await nextRound();
    from = page.through;
  }
}

/** A moment of the session: everything before one record. */
interface Moment {
  readonly through: number;
  readonly state: FoldState;
  readonly loop: LoopState;
}

class OriginReader {
  readonly #isChanged: (call: CallName) => boolean;
  readonly #folder: Folder;
  #loop = emptyLoopState;
  /** The last turn, even if it is finished. */
  #turn: TurnState | undefined;
  /** The records of the last turn. */
  #records: LogRecord[] = [];
  /** The moment before the first record of a changed call of the last turn. */
  #before: Moment | undefined;
  #calls = new CallRecords();
  /** The last input that started outside of turns, and whether the last record belongs to it. */
  #input: { readonly start: LogRecord; readonly itemId: ItemId; end: number } | undefined;
  #isInput = false;

  constructor(session: SessionId, isChanged: (call: CallName) => boolean) {
    this.#isChanged = isChanged;
    this.#folder = new Folder(session);
  }

  /** Adds a record that is not after the place of the branch. */
  add(record: LogRecord): void {
    const { fact, offset } = record;
    if (fact?.type === 'turn_started') this.#startTurn();
    const call = this.#calls.callOf(record);
    const isOwn = call !== undefined && this.#isChanged(call) && !isReservation(record);
    if (isOwn) this.#before ??= this.#moment();
    this.#trackInput(record);
    const { through } = this.#folder.state;
    this.#folder.addBatch({ after: through, through: offset, records: [record] });
    this.#loop = foldLoop(this.#loop, record);
    if (this.#loop.turn !== undefined) this.#turn = this.#loop.turn;
    this.#records.push(record);
  }

  /** Adds a record after the place. Returns false if no later record is needed. */
  addLater(record: LogRecord): boolean {
    const { fact } = record;
    if (this.#input && this.#isInput) {
      if (fact?.type === 'item_finished' && fact.itemId === this.#input.itemId) {
        this.#input.end = record.offset;
        return false;
      }
      return true;
    }
    if (this.#turn === undefined || (this.#loop.turn === undefined && this.#before === undefined))
      return false;
    this.#calls.callOf(record);
    this.#records.push(record);
    return fact?.type !== 'turn_finished' || record.turn !== this.#turn.turn;
  }

  place(at: number): OriginPlace {
    const calls = callsOfTurn(this.#folder.state, this.#turn).map(({ part }) => part);
    const changed = calls.filter(this.#isChanged);
    const now = { ...this.#moment(), through: at };
    const moment = changed.length > 0 && this.#before ? this.#before : now;
    const message =
      this.#input && this.#isInput
        ? { start: this.#input.start, end: Math.max(at, this.#input.end) }
        : undefined;
    // A call can run before the answer of the model is complete. If the branch changes such a call, `rest` also
    // contains the records that complete the answer.
    const hasAnswer =
      this.#turn?.stop !== undefined || (changed.length > 0 && this.#isAnswered(this.#turn));
    const isComplete = moment.loop.turn !== undefined && hasAnswer;
    const rest = isComplete
      ? this.#rest(moment, new Set(changed.map((one) => one.toolCallId)))
      : undefined;
    const answer = recordedAnswer(this.#records, this.#turn);
    return { ...moment, changed, message, rest, answer };
  }

  #moment(): Moment {
    const { state } = this.#folder;
    return { through: state.through, state, loop: this.#loop };
  }

  /** Returns true if the recorded attempt has a complete answer that no later attempt replaced. */
  #isAnswered(turn: TurnState | undefined): boolean {
    const types = this.#records
      .filter((one) => one.turn === turn?.turn && one.attempt === turn?.attempt)
      .map(({ fact }) => fact?.type);
    return types.includes('response_finished') && !types.includes('attempt_superseded');
  }

  #startTurn(): void {
    this.#records = [];
    this.#before = undefined;
    this.#turn = undefined;
    this.#calls = new CallRecords();
  }

  #trackInput(record: LogRecord): void {
    const { fact, delta, turn, offset } = record;
    if (fact?.type === 'item_started' && turn === 0 && fact.kind === 'user')
      this.#input = { start: record, itemId: fact.itemId, end: offset };
    const itemId =
      fact?.type === 'item_started' || fact?.type === 'item_finished' ? fact.itemId : undefined;
    const isDelta = delta !== undefined && turn === 0;
    this.#isInput = this.#input !== undefined && (itemId === this.#input.itemId || isDelta);
    if (this.#isInput && this.#input) this.#input.end = offset;
  }

  /** Returns copies of the turn's records after a moment. Omits the records of changed and aborted calls. */
  #rest({ through, loop }: Moment, changed: ReadonlySet<ToolCallId>): readonly DraftRecord[] {
    const { turn = 0, attempt = 0 } = this.#turn ?? {};
    const later = this.#records.filter((one) => one.offset > through && one.turn === turn);
    const stopped = abortedCalls(later);
    const drafts: DraftRecord[] = [];
    // A hand-off is written directly before the end of the execution that hands off.
    let handOff: DraftRecord | undefined;
    for (const record of later) {
      const { fact, delta } = record;
      if (record.attempt !== attempt) continue;
      const call = this.#calls.callOf(record)?.toolCallId;
      const isLeft = call !== undefined && (changed.has(call) || stopped.has(call));
      const draft = delta === undefined ? { turn, attempt, fact } : { turn, attempt, delta };
      if (fact?.type === 'handed_off') handOff = draft as DraftRecord;
      if (fact !== undefined && skippedFacts.has(fact.type)) continue;
      if (fact?.type === 'item_finished' && fact.itemId !== loop.turn?.itemId) continue;
      if (isLeft && !isReservation(record)) continue;
      if (fact?.type === 'tool_execution_finished' && handOff !== undefined) drafts.push(handOff);
      if (fact?.type === 'tool_execution_finished') handOff = undefined;
      drafts.push(draft as DraftRecord);
    }
    return drafts;
  }
}

/** The reason of records that remove an answer because of a guardrail. */
export const withheldReason = 'guardrail';

/** Returns the recorded data about the answer of an attempt. */
function recordedAnswer(
  records: readonly LogRecord[],
  { turn, attempt, itemId }: Partial<TurnState> = {},
): RecordedAnswer {
  const passedBy = new Set<string>();
  let [isWithheld, isCut, isUsed] = [false, false, false];
  for (const { fact, delta, ...at } of records) {
    if (at.turn !== turn) continue;
    if (fact?.type === 'turn_finished') isUsed = true;
    if (at.attempt !== attempt) continue;
    if (usesAnswer(fact)) isUsed = true;
    if (fact?.type === 'attempt_superseded' && fact.reason === withheldReason) isWithheld = true;
    if (delta?.type === 'retract_part' && delta.reason === withheldReason) isWithheld = true;
    if (fact?.type === 'guardrail_applied' && fact.on === 'output' && isPassed(fact.verdict))
      passedBy.add(fact.name);
    const isEnd = fact?.type === 'response_finished' || fact?.type === 'item_finished';
    if (isEnd && fact.itemId === itemId && fact.stop) isCut = !isCheckedStop(fact.stop);
  }
  return { isWithheld, isCut, isUsed, passedBy };
}

function isPassed(verdict: GuardrailVerdict): boolean {
  return verdict === 'pass' || verdict === 'change';
}

/** The facts of a turn that belong to its end, to its driver or to its commands. */
const skippedFacts: ReadonlySet<string> = new Set([
  ...['turn_started', 'turn_finished', 'attempt_superseded', 'retry_scheduled', 'aborted'],
  ...['command_queued', 'command_consumed', 'handed_off', 'error_reported', 'branched', 'snapshot'],
]);

/** Returns the calls that an abort ended before they ran. They have not run, so they run in the branch. */
function abortedCalls(records: readonly LogRecord[]): ReadonlySet<ToolCallId> {
  const stopped = new Set<ToolCallId>();
  for (const { fact } of records)
    if (fact?.type === 'tool_call_rejected' && fact.code === 'aborted')
      stopped.add(fact.toolCallId);
  for (const { fact } of records)
    if (fact?.type === 'tool_execution_started') stopped.delete(fact.toolCallId);
  return stopped;
}

/** Returns true if the record only reserves the place of a result. */
function isReservation({ delta }: LogRecord): boolean {
  return delta?.type === 'begin_part';
}

/** Finds the call that each record of a turn belongs to. */
class CallRecords {
  readonly #parts = new Map<PartId, CallName>();
  readonly #questions = new Map<ToolCallId, CallName>();
  readonly #names = new Map<ToolCallId, string>();

  callOf({ delta, fact }: LogRecord): CallName | undefined {
    if (delta !== undefined) {
      if (delta.type === 'unknown') return undefined;
      const result =
        delta.type === 'begin_part' ? delta : delta.type === 'commit_part' ? delta.part : undefined;
      if (result?.kind === 'tool_result') {
        const { toolCallId, name } = result;
        this.#parts.set(delta.partId, { toolCallId, name });
      }
      return this.#parts.get(delta.partId);
    }
    if (!('toolCallId' in fact) || fact.toolCallId === undefined) return undefined;
    const { toolCallId, name } = fact;
    if (fact.type === 'approval_asked' && fact.from !== undefined) {
      const of = fact.from.toolCallId;
      this.#questions.set(toolCallId, { toolCallId: of, name: this.#names.get(of) ?? name });
    }
    const asked = this.#questions.get(toolCallId);
    if (asked !== undefined) return asked;
    if (fact.type !== 'guardrail_applied') this.#names.set(toolCallId, name);
    return { toolCallId, name: this.#names.get(toolCallId) ?? name };
  }
}
