import type {
  Fact,
  GuardrailFact,
  ItemId,
  ItemKind,
  ItemState,
  LogRecord,
  Stop,
  ToolCallId,
} from '@millrace/core';
import type { SessionFold } from '@millrace/log';
import type { QueuedCommand } from '../contract/command.ts';
import {
  type CallState,
  emptyLoopState,
  filterLayered,
  type InputVerdicts,
  type LoopState,
  newCallState,
  setLayered,
  summaryId,
  type TurnState,
  verdictKey,
} from '../contract/loop-state.ts';
import { agentOfWork, decodeCommand, textOf } from './commands.ts';
import { changedSuffix } from './turn-calls.ts';

/**
 * The fold that computes the loop state from the records. The log stores the loop state together with the
 * session state.
 */
export const loopFold: SessionFold<LoopState> = {
  initial: emptyLoopState,
  apply: foldLoop,
  stored: { name: 'loop', version: 10, needs: needsItem, shorten: withoutOldItems },
};

/**
 * Returns true if a request may still contain the item, or if the item belongs to the last turn or to an open
 * run. Items that a compaction covers are never sent again.
 */
function needsItem(state: LoopState, { id, kind, turn, run, parts }: ItemState): boolean {
  const { compacted, inputs, lastTurn } = state;
  const firstTurn = Math.min(lastTurn, state.run?.firstTurn ?? lastTurn);
  if (turn > 0 && turn >= firstTurn) return true;
  if (run !== undefined && run === state.run?.id) return true;
  if (parts.length === 0 || inputs.withheld.has(id)) return false;
  // An item with the changed content of an input replaces that input in requests.
  const original = kind === 'context' ? replacedBy(inputs, id) : undefined;
  return !compacted.covered.has(original ?? id);
}

/** Returns the input that this item replaces in requests. */
function replacedBy({ replaced }: InputVerdicts, id: ItemId): ItemId | undefined {
  const known = originals.get(replaced);
  const found =
    known ?? new Map(replaced.flatMap((layer) => [...layer].map(([from, to]) => [to, from])));
  if (known === undefined) originals.set(replaced, found);
  return found.get(id);
}

/** Finds the replaced input of a replacement. The map is kept, because the fold looks up many items in one state. */
const originals = new WeakMap<InputVerdicts['replaced'], ReadonlyMap<ItemId, ItemId>>();

/** Returns the state without references to items that are not loaded. */
function withoutOldItems(state: LoopState, has: (id: ItemId) => boolean): LoopState {
  const { compacted, inputs } = state;
  const { summary } = compacted;
  const covered = new Set([...compacted.covered].filter(has));
  const clipped = new Map([...compacted.clipped].filter(([id]) => has(id)));
  return {
    ...state,
    compacted: { summary, covered, clipped },
    inputs: inputsWith(inputs, (id) => id === summaryId || has(id)),
  };
}

function inputsWith(inputs: InputVerdicts, has: (id: ItemId) => boolean): InputVerdicts {
  return {
    ...inputs,
    replaced: filterLayered(inputs.replaced, has),
    withheld: new Set([...inputs.withheld].filter(has)),
    late: filterLayered(inputs.late, has),
  };
}

/** Applies one record to the loop state. */
export function foldLoop(state: LoopState, { turn, attempt, fact }: LogRecord): LoopState {
  if (fact === undefined) return state;
  switch (fact.type) {
    case 'run_started': {
      // If a turn is open, a parked run started it. The new run finishes that turn.
      const firstTurn = state.lastTurn + (state.turn === undefined ? 1 : 0);
      const run = { id: fact.runId, firstTurn, turns: 0, finishedTurns: 0, aborted: undefined };
      const cleared = { lastError: undefined, blockedBy: undefined };
      return { ...state, ...cleared, run, trace: fact.trace, enqueuedFor: agentOfWork(state) };
    }
    case 'error_reported':
      return { ...state, lastError: fact.error };
    case 'run_finished':
      return { ...state, run: undefined };
    case 'aborted':
      return { ...state, run: state.run && { ...state.run, aborted: { reason: fact.reason } } };
    case 'command_queued': {
      const command = decodeCommand(fact.command);
      const agent = textOf(fact.command['agent']);
      const commands = [...state.commands, { key: fact.key, command, agent }];
      // A revoke takes effect when it is queued. From then on, the rule allows no further call, even before
      // the command is handled.
      return {
        ...state,
        commands,
        standingApprovals: withoutRevoked(state.standingApprovals, command),
      };
    }
    case 'command_consumed':
      return { ...state, commands: state.commands.filter(({ key }) => key !== fact.key) };
    case 'item_started':
      if (turn === 0) return takeItem(state, fact);
      return startItem(state, turn, attempt, fact);
    case 'compacted':
      return compact(state, fact);
    case 'branched': {
      const { model = state.branch?.model, instructions = state.branch?.instructions } = fact;
      return { ...state, branch: { agent: state.agent, model, instructions } };
    }
    case 'response_started': {
      // The guardrails check all inputs before a request. A summary answers no input.
      const isRequest = state.turn?.turn === turn && !state.turn.isCompaction;
      const { inputs } = state;
      const isOver = isRequest && inputs.late.length > 0;
      const known = isOver ? { ...state, inputs: { ...inputs, late: [] } } : state;
      return updateTurn(known, turn, (open) => foldTurn(open, attempt, fact));
    }
    case 'response_finished': {
      if (state.turn?.isCompaction)
        return updateTurn(state, turn, (open) => foldTurn(open, attempt, fact));
      const inputs = answeredInputs(state.inputs);
      return updateTurn({ ...state, inputs, lastTokens: tokensOf(fact) }, turn, (open) =>
        foldTurn(open, attempt, fact),
      );
    }
    case 'attempt_superseded': {
      const isRejected = fact.reason === 'history_rejected';
      const rejected = isRejected ? { ...state, rejectedReasoning: turn } : state;
      return updateTurn(rejected, turn, (open) => foldTurn(open, attempt, fact));
    }
    case 'approval_answered': {
      const answered = updateTurn(state, turn, (open) => foldTurn(open, attempt, fact));
      const { rule, askedBy } = answered.turn?.calls.get(fact.toolCallId) ?? newCallState;
      // The rule is about the input in the policy's question. A person who changed the input did not approve
      // the original input, so no standing approval is stored.
      const isAboutRule = fact.decision === 'allow' && fact.input === undefined;
      if (fact.until === undefined || !isAboutRule || rule === undefined) return answered;
      const until = fact.until === 'session' ? Number.POSITIVE_INFINITY : fact.until;
      const key = standingKey(state, rule, askedBy);
      const longest = Math.max(until, state.standingApprovals.get(key) ?? 0);
      return {
        ...answered,
        standingApprovals: new Map(state.standingApprovals).set(key, longest),
      };
    }
    case 'guardrail_applied':
      return applyVerdict(state, turn, fact);
    case 'turn_started':
      return startTurn(state, turn);
    case 'turn_finished':
      return state.turn?.turn === turn ? finishTurn(state, fact.stop) : state;
    default:
      return updateTurn(state, turn, (open) => foldTurn(open, attempt, fact));
  }
}

/** Adds an item that is not from a turn. */
function takeItem(state: LoopState, fact: Extract<Fact, { type: 'item_started' }>): LoopState {
  const taken = isInput(fact.kind) ? takeInput(state, fact) : state;
  if (state.turn?.stop === undefined) return taken;
  const late = setLayered(state.inputs.late, fact.itemId, true);
  return { ...taken, inputs: { ...state.inputs, late } };
}

/** Adds an input. If the input names a model, that model replaces the model of the branch. */
function takeInput(
  state: LoopState,
  { metadata }: Extract<Fact, { type: 'item_started' }>,
): LoopState {
  const { branch } = state;
  const isNamed = branch?.model !== undefined && typeof metadata?.['model'] === 'string';
  return { ...state, hasInput: true, ...(isNamed && { branch: { ...branch, model: undefined } }) };
}

function withoutRevoked(
  approvals: LoopState['standingApprovals'],
  command: QueuedCommand['command'],
): LoopState['standingApprovals'] {
  if (command.type !== 'revoke') return approvals;
  const remaining = [...approvals].filter(([key]) => JSON.parse(key)[0] !== command.rule);
  return remaining.length === approvals.size ? approvals : new Map(remaining);
}

/**
 * Returns the key of a standing approval. It contains the agent that the session was handed off to, and the names of
 * the nested agents that ask, because another agent can have another tool or another rule with the same name.
 */
export function standingKey(
  { agent = '' }: Pick<LoopState, 'agent'>,
  rule: string,
  askedBy: readonly string[],
): string {
  return JSON.stringify([rule, agent, ...askedBy]);
}

/** Returns true for items that the model has to answer. */
function isInput(kind: ItemKind): boolean {
  return kind === 'user' || kind === 'developer' || kind === 'notification';
}

/**
 * Returns the number of tokens of a response, as an estimate for the next request. Returns Infinity if the
 * request was too long.
 */
function tokensOf({ usage, stop }: Extract<Fact, { type: 'response_finished' }>): number {
  return isOverflow(stop) ? Number.POSITIVE_INFINITY : usage.input + usage.output;
}

/** Applies a compaction. If the last request was too long for the model, its input still needs an answer. */
function compact(
  state: LoopState,
  { itemIds, summary, clipped: clips = [] }: Extract<Fact, { type: 'compacted' }>,
): LoopState {
  const covered = new Set([...state.compacted.covered, ...itemIds]);
  const clipped = new Map(state.compacted.clipped);
  for (const { itemId, maxLength } of clips) clipped.set(itemId, maxLength);
  // The verdicts on an earlier summary are not about this one.
  const inputs = inputsWith(state.inputs, (id) => id !== summaryId);
  const shorter = { ...state, inputs, compacted: { covered, summary, clipped }, lastTokens: 0 };
  return isOverflow(state.lastStop) ? { ...shorter, hasInput: true, lastStop: undefined } : shorter;
}

function startTurn(state: LoopState, turn: number): LoopState {
  const { run } = state;
  const started: TurnState = {
    turn,
    attempt: 0,
    isSuperseded: false,
    itemId: undefined,
    toolItemId: undefined,
    stop: undefined,
    calls: new Map(),
    handedTo: undefined,
    isCompaction: false,
    hadInput: state.hasInput,
    verdicts: new Map(),
    halt: undefined,
    offered: undefined,
  };
  const counted = run && { ...run, turns: run.turns + 1 };
  return { ...state, run: counted, turn: started, lastTurn: turn, hasInput: false };
}

function finishTurn(state: LoopState, lastStop: Stop): LoopState {
  const { run, turn } = state;
  if (turn?.isCompaction) return { ...state, turn: undefined };
  const counted = run && { ...run, finishedTurns: run.finishedTurns + 1 };
  const settled = { ...state, run: counted, turn: undefined, lastStop };
  if (turn?.handedTo === undefined) return settled;
  // The guardrails of the new agent check the inputs that this turn has answered, so their verdicts stay.
  const inputs = { ...state.inputs, isAnswered: false };
  return { ...settled, agent: turn.handedTo, handedAtTurn: state.lastTurn, inputs };
}

function updateTurn(
  state: LoopState,
  turn: number,
  change: (open: TurnState) => TurnState,
): LoopState {
  if (state.turn?.turn !== turn) return state;
  const changed = change(state.turn);
  return changed === state.turn ? state : { ...state, turn: changed };
}

function startItem(
  state: LoopState,
  number: number,
  attempt: number,
  { itemId, kind }: Extract<Fact, { type: 'item_started' }>,
): LoopState {
  const { turn } = state;
  if (turn?.turn !== number) return state;
  if (kind === 'tool') return { ...state, turn: { ...turn, toolItemId: itemId } };
  if (kind !== 'assistant' && kind !== 'context') return state;
  const fresh = { isSuperseded: false, toolItemId: undefined, calls: new Map() };
  const tried = { ...turn, ...fresh, attempt, itemId, verdicts: new Map() };
  if (kind === 'assistant') return { ...state, turn: tried };
  // This turn is a compaction, and `itemId` is the item into which the model writes the summary. No
  // request contains this item, so it counts as covered. The summary does not answer the input before
  // the turn, so that input still needs an answer.
  const covered = new Set(state.compacted.covered).add(itemId);
  const compacted = { ...state.compacted, covered };
  return { ...state, turn: { ...tried, isCompaction: true }, hasInput: turn.hadInput, compacted };
}

/**
 * Marks the inputs as answered. Their verdicts stay until the next verdict, because a new attempt may still
 * replace the answer.
 */
function answeredInputs(inputs: InputVerdicts): InputVerdicts {
  const isOver = inputs.isAnswered || inputs.verdicts.length === 0;
  return isOver ? inputs : { ...inputs, isAnswered: true };
}

function applyVerdict(state: LoopState, turn: number, fact: GuardrailFact): LoopState {
  const { name, on, verdict, reason } = fact;
  const judged = updateTurn(state, turn, (open) => noteVerdict(open, fact));
  const known =
    on === 'input' ? { ...judged, inputs: noteInputVerdict(state.inputs, fact) } : judged;
  return verdict === 'stop' ? { ...known, blockedBy: { name, on, reason } } : known;
}

function noteVerdict(turn: TurnState, fact: GuardrailFact): TurnState {
  const { name, on, verdict, toolCallId } = fact;
  const isHalt = verdict === 'stop' || verdict === 'error';
  const halted = isHalt ? { ...turn, halt: { by: name, isError: verdict === 'error' } } : turn;
  if (on === 'output') return { ...halted, verdicts: new Map(turn.verdicts).set(name, verdict) };
  return on === 'tool_call' && toolCallId !== undefined
    ? updateCall(halted, toolCallId, fact)
    : halted;
}

/**
 * Stores the verdict on an input. The verdict `error` is not stored, so the guardrail checks the input again.
 */
function noteInputVerdict(
  inputs: InputVerdicts,
  { name, verdict, itemId, replacedBy }: GuardrailFact,
): InputVerdicts {
  if (itemId === undefined || verdict === 'error') return inputs;
  const { isAnswered, replaced, withheld, late } = inputs;
  return {
    verdicts: setLayered(isAnswered ? [] : inputs.verdicts, verdictKey(itemId, name), verdict),
    isAnswered: false,
    replaced: replacedBy === undefined ? replaced : setLayered(replaced, itemId, replacedBy),
    withheld: verdict === 'stop' ? new Set(withheld).add(itemId) : withheld,
    late,
  };
}

function foldTurn(turn: TurnState, attempt: number, fact: Fact): TurnState {
  switch (fact.type) {
    case 'attempt_superseded':
      return attempt === turn.attempt
        ? {
            ...turn,
            isSuperseded: true,
            itemId: undefined,
            toolItemId: undefined,
            stop: undefined,
            calls: new Map(),
            verdicts: new Map(),
          }
        : turn;
    case 'response_started':
      return fact.itemId === turn.itemId ? { ...turn, offered: fact.tools } : turn;
    case 'response_finished':
      return fact.itemId === turn.itemId ? { ...turn, stop: fact.stop } : turn;
    case 'item_finished':
      return fact.itemId === turn.itemId && fact.stop ? { ...turn, stop: fact.stop } : turn;
    case 'child_usage_reported':
      return turn;
    case 'handed_off':
      // Only the first hand-off has an effect.
      return turn.handedTo === undefined ? { ...turn, handedTo: fact.to } : turn;
    default:
      return 'toolCallId' in fact ? updateCall(turn, fact.toolCallId, fact) : turn;
  }
}

function updateCall(turn: TurnState, id: ToolCallId, fact: Fact): TurnState {
  const calls = new Map(turn.calls);
  calls.set(id, foldCall(calls.get(id) ?? newCallState, fact));
  return { ...turn, calls };
}

const notEnded = { isLost: false, isParked: false, isDone: false };

function foldCall(call: CallState, fact: Fact): CallState {
  switch (fact.type) {
    case 'approval_asked':
      return {
        ...call,
        ...{ isAsked: true, rule: fact.rule, judged: fact.judged, question: questionIn(fact) },
        askedBy: isOwnCall(fact) ? [] : (fact.from?.agents ?? []),
      };
    case 'approval_answered': {
      const { decision, reason, by, input, basis } = fact;
      // Only the first answer has an effect.
      return call.answer ? call : { ...call, answer: { decision, reason, by, input, basis } };
    }
    case 'guardrail_applied': {
      const { name, verdict, reason, input } = fact;
      const verdicts = new Map(call.verdicts).set(name, verdict);
      const changed = input === undefined ? call.changed : { input, by: name };
      const asking = verdict === 'ask' ? { reason } : call.asking;
      return { ...call, verdicts, changed, asking };
    }
    case 'tool_output_asked':
      return { ...call, isAwaited: true };
    case 'tool_call_rejected':
      return { ...call, isRejected: true };
    case 'tool_execution_started': {
      const { executionId: id, name, child, parent } = fact;
      const execution = { id, name, child, parent, isRunning: true, ...notEnded };
      return { ...call, execution, executions: call.executions + 1 };
    }
    case 'tool_execution_finished': {
      const { execution } = call;
      if (execution?.id !== fact.executionId) return call;
      const isLost = fact.outcome === 'lost';
      const isParked = fact.outcome === 'parked';
      // A tool that failed may run again.
      const isDone = fact.outcome === 'completed' && !fact.isError;
      const ended = { isRunning: false, isLost, isParked, isDone };
      return { ...call, execution: { ...execution, ...ended } };
    }
    default:
      return call;
  }
}

function questionIn({
  from,
  name,
}: Extract<Fact, { type: 'approval_asked' }>): CallState['question'] {
  return from && { of: from.toolCallId, name };
}

/** Returns true if the question is about a call of the session, also with an input that a guardrail changed. */
function isOwnCall({ toolCallId, from }: Extract<Fact, { type: 'approval_asked' }>): boolean {
  return from === undefined || toolCallId === `${from.toolCallId}${changedSuffix}`;
}

/** Returns true if the request was longer than the model accepts. */
export function isOverflow(stop: Stop | undefined): boolean {
  return stop?.reason === 'error' && stop.cause === 'context_overflow';
}
