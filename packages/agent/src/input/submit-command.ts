import {
  type AskedApproval,
  type FoldState,
  findUnknownOption,
  type ItemId,
  isId,
  type JsonValue,
  nearestNames,
  parseJson,
  randomIds,
  type SessionId,
  sessionId,
  type ToolCallId,
} from '@millrace/core';
import { type Log, readBackward, type SubmitResult, sessionStates } from '@millrace/log';
import { AgentError, textOfError } from '../contract/agent-error.ts';
import type { Command, Decision, OutputCommand, SessionCommand } from '../contract/command.ts';
import type { LoopState } from '../contract/loop-state.ts';
import type { ApproveOptions, ClientToolResult, DenyOptions } from '../contract/run.ts';
import type { Tool, ValidationResult } from '../contract/tool.ts';
import type { PendingApproval, PendingToolCall } from '../contract/typed-tools.ts';
import { assertKnownOptions } from '../known-options.ts';
import { encodeCommand } from '../state/commands.ts';
import { loopFold } from '../state/fold-loop.ts';
import { hasCall } from '../state/turn-calls.ts';
import { pendingApprovalsOf } from '../views/run-views.ts';
import { labelText } from './label-command.ts';
import { toItems } from './run-input.ts';

/** Options of `submitCommand`. */
export interface SubmitOptions {
  /** Idempotency key. A command has no effect if its key was used before. Default: a new key. */
  readonly key?: string | undefined;
}

/** The result of `submitCommand`. */
export interface SubmittedCommand extends SubmitResult {
  /** The key of the command. Pass it to `withdraw` to withdraw the command. */
  readonly key: string;
}

/**
 * Sends a command to a session, from any process that can access the log. The process that drives the session
 * handles the command. If no process drives the session, the next `agent.resume(session)` handles the
 * command. A message creates the session if it does not exist. For all other commands, the function rejects
 * with `no_such_session`. Throws `bad_command` if the command has an unknown type or field, or lacks a field.
 *
 * @example
 * await submitCommand(log, session, { type: 'abort', reason: 'The user closed the page' });
 */
export async function submitCommand(
  log: Log,
  session: string,
  command: SessionCommand,
  options: SubmitOptions = {},
): Promise<SubmittedCommand> {
  assertKnownOptions('submitCommand', options, { key: true });
  const id = sessionId(session);
  const json = encodeCommand(toCommand(command));
  const { type } = command;
  if (type !== 'message') await assertSession(log, id, `submit the command ${type} to`);
  const key = options.key ?? crypto.randomUUID();
  return { ...(await log.submit(id, json, key)), key };
}

type FieldsOf<Type extends SessionCommand['type']> = Readonly<
  Record<keyof Extract<SessionCommand, { readonly type: Type }>, true>
>;

const commandFields: { readonly [Type in SessionCommand['type']]: FieldsOf<Type> } = {
  message: { type: true, input: true, when: true, trace: true },
  abort: { type: true, reason: true },
  compact: { type: true },
  withdraw: { type: true, key: true },
  revoke: { type: true, rule: true },
  label: { type: true, itemId: true, text: true },
  approve: { type: true, toolCallId: true, input: true, basis: true, by: true, until: true },
  deny: { type: true, toolCallId: true, reason: true, by: true },
  tool_output: { type: true, toolCallId: true, output: true, error: true, by: true },
};

/**
 * Returns a sentence which states that a command type does not exist. The sentence suggests the most similar
 * type.
 */
export function unknownCommandText(type: unknown): string {
  const known = Object.keys(commandFields);
  const [near] = typeof type === 'string' ? nearestNames(type, known) : [];
  const all = near === undefined ? `Known types: ${known.join(', ')}` : `Did you mean ${near}?`;
  return `there is no command of the type ${JSON.stringify(type)}. ${all}`;
}

function toCommand(command: SessionCommand): Command {
  const { type } = (command ?? {}) as Partial<SessionCommand>;
  if (type === undefined || !Object.hasOwn(commandFields, type))
    throw badCommand(unknownCommandText(type));
  const unknown = findUnknownOption(command, commandFields[type]);
  if (unknown !== undefined)
    throw badCommand(`${type} has no field ${unknown.name}. ${unknown.hint}`);
  switch (command.type) {
    case 'message': {
      const { input, when = 'follow_up', trace } = command;
      if (when !== 'steer' && when !== 'follow_up')
        throw badCommand('when must be steer or follow_up');
      return { type: 'message', when, items: toItems(input, ids), trace };
    }
    case 'withdraw':
      return { ...command, key: textOf('key', command) };
    case 'revoke':
      return { ...command, rule: textOf('rule', command) };
    case 'label': {
      const itemId = textOf('itemId', command);
      const { text = '' } = command;
      if (!isId(itemId)) throw badCommand('label needs an item id');
      if (typeof text !== 'string') throw badCommand('the text of label must be a string');
      return { type: 'label', itemId: itemId as ItemId, text: labelText(text) };
    }
    case 'approve': {
      const { type: _type, toolCallId, ...options } = command;
      return approveCommand(toolCallId, options);
    }
    case 'deny': {
      const { type: _type, toolCallId, ...options } = command;
      return denyCommand(toolCallId, options);
    }
    case 'tool_output': {
      const { type: _type, toolCallId, ...result } = command;
      return toolOutputCommand(toolCallId, result);
    }
    case 'abort':
    case 'compact':
      return command;
  }
}

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

function textOf<Field extends string>(
  field: Field,
  command: { readonly type: string } & Readonly<Record<Field, string>>,
): string {
  const value: unknown = command[field];
  if (typeof value === 'string' && value !== '') return value;
  throw badCommand(`${command.type} needs the field ${field}`);
}

function badCommand(problem: string): AgentError {
  return new AgentError('bad_command', `Cannot submit the command: ${problem}`);
}

interface DecisionToSubmit {
  readonly decision: Decision;
  /** The tools whose schemas validate changed inputs. Default: none. */
  readonly tools?: ReadonlyMap<string, Tool> | undefined;
}

/**
 * Submits a decision on a call that waits for approval, from any process. Submitting the same answer again
 * has no effect.
 *
 * Rejects with `no_such_session` if the session does not exist. Rejects with `no_such_call` if the last
 * 20,000 records of the session have no call with this id. Rejects with `already_decided` if the call no
 * longer waits, or if a different answer is queued for the next run.
 */
export async function submitDecision(
  log: Log,
  session: string,
  { decision, tools = new Map() }: DecisionToSubmit,
): Promise<void> {
  const id = sessionId(session);
  await assertSession(log, id, 'decide on a call of');
  const { state, value: loop } = await sessionStates(log).load(id, loopFold);
  const { asked } = state;
  const waiting = asked.map(({ toolCallId }) => toolCallId);
  const { toolCallId } = decision;
  if (!waiting.includes(toolCallId)) throw await refusedDecision(log, id, { toolCallId, waiting });
  const queued = queuedDecision(loop, toolCallId);
  if (queued !== undefined) {
    if (isSameAnswer(queued, decision)) return;
    throw alreadyDecided(id, toolCallId, outcomeOf(queued));
  }
  await assertInputFits(decision, asked, tools);
  await log.submit(id, encodeCommand(decision), crypto.randomUUID());
}

/**
 * Returns the first answer to a call that is queued and that no run has handled yet. Later answers have no
 * effect.
 */
function queuedDecision({ commands }: LoopState, call: string): Decision | undefined {
  for (const { command } of commands) {
    const isDecision = command.type === 'approve' || command.type === 'deny';
    if (isDecision && command.toolCallId === call) return command;
  }
  return undefined;
}

/** Returns true if both answers have the same effect on the call. `by` and `reason` may differ. */
function isSameAnswer(first: Decision, second: Decision): boolean {
  if (first.type === 'deny' || second.type === 'deny') return first.type === second.type;
  const isSameInput = JSON.stringify(first.input) === JSON.stringify(second.input);
  return isSameInput && first.basis === second.basis && first.until === second.until;
}

function outcomeOf(decision: Decision): CallOutcome {
  const { by } = decision;
  if (decision.type === 'approve') return { decision: 'allow', by };
  return { decision: 'deny', by, reason: decision.reason };
}

/**
 * Rejects with `no_such_call` if the current turn of a run does not have the call. Rejects with
 * `already_decided` if the call already has an answer.
 */
export async function assertDecidable(
  log: Log,
  session: SessionId,
  { toolCallId }: Decision,
  { state, loop }: { readonly state: FoldState; readonly loop: LoopState },
): Promise<void> {
  const waiting = state.asked.map((asked) => asked.toolCallId);
  if (!hasCall(state, loop.turn, toolCallId))
    throw await refusedDecision(log, session, { toolCallId, waiting });
  const answer = loop.turn?.calls.get(toolCallId)?.answer;
  if (answer !== undefined) throw alreadyDecided(session, toolCallId, answer);
}

interface RefusedCall {
  readonly toolCallId: ToolCallId;
  /** The ids of the calls that still wait for a decision. */
  readonly waiting: readonly ToolCallId[];
}

/**
 * Returns the error for a decision on a call that does not wait. It reads the earlier decision from the
 * end of the log. This costs time, but only when a decision is refused.
 */
async function refusedDecision(
  log: Log,
  session: SessionId,
  { toolCallId, waiting }: RefusedCall,
): Promise<AgentError> {
  const outcome = await readOutcome(log, session, toolCallId);
  return decisionError(session, toolCallId, outcome, waiting);
}

/**
 * Returns the error for a decision that has no effect. `outcome` is undefined if the call does not exist.
 * `waiting` contains the ids of the calls that wait.
 */
export function decisionError(
  session: SessionId,
  toolCallId: ToolCallId,
  outcome: CallOutcome | undefined,
  waiting: readonly ToolCallId[] = [],
): AgentError {
  if (outcome !== undefined) return alreadyDecided(session, toolCallId, outcome);
  const hint = waiting.length === 0 ? 'No call waits' : `These calls wait: ${waiting.join(', ')}`;
  const message = `Cannot approve or deny call ${toolCallId}: the current turn has no such call. ${hint}`;
  return new AgentError('no_such_call', message, { session, toolCallId });
}

/** The final decision on a call. */
interface CallOutcome {
  /**
   * The decision. `ended` means that the call was neither approved nor denied, because its run has ended or
   * the call needed no approval.
   */
  readonly decision: 'allow' | 'deny' | 'ended';
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

const outcomeTexts = {
  allow: 'it was allowed',
  deny: 'it was denied',
  ended: 'it is over',
} as const;

function alreadyDecided(
  session: SessionId,
  toolCallId: ToolCallId,
  { decision, by, reason }: CallOutcome,
): AgentError {
  const who = by === undefined ? '' : ` by ${by}`;
  const why = reason === undefined ? '' : ` (${reason})`;
  const message = `Cannot approve or deny call ${toolCallId}: ${outcomeTexts[decision]}${who}${why}. This answer has no effect`;
  const place = { session, toolCallId, decision, ...(by !== undefined && { by }) };
  return new AgentError('already_decided', message, place);
}

/** The number of records that are searched for the decision on a call. Older calls count as unknown. */
const searchedRecords = 20_000;

/**
 * Reads the decision on a call from the log, the newest records first. Undefined if the last records of the
 * log have no fact about the call. The cost does not depend on the length of the session.
 */
async function readOutcome(
  log: Log,
  session: SessionId,
  toolCallId: ToolCallId,
): Promise<CallOutcome | undefined> {
  let callTurn: number | undefined;
  for await (const records of readBackward(log, session, { maxRecords: searchedRecords }))
    for (const { fact, turn } of records.toReversed()) {
      if (fact === undefined) continue;
      // All facts about a call are in its turn.
      if (fact.type === 'turn_started' && turn === callTurn) return { decision: 'ended' };
      if (!('toolCallId' in fact) || fact.toolCallId !== toolCallId) continue;
      if (fact.type === 'approval_answered') return fact;
      if (fact.type === 'approval_asked') return { decision: 'ended' };
      callTurn = turn;
    }
  return callTurn === undefined ? undefined : { decision: 'ended' };
}

/**
 * Returns the calls of a session that wait for an approval. Calls with a queued answer are not included.
 * Rejects with `no_such_session` if the session does not exist.
 */
export async function readPendingApprovals(
  log: Log,
  session: string,
): Promise<readonly PendingApproval[]> {
  const id = sessionId(session);
  await assertSession(log, id, 'read');
  const { state, value: loop } = await sessionStates(log).load(id, loopFold);
  const isOpen = (call: PendingApproval) => queuedDecision(loop, call.toolCallId) === undefined;
  return pendingApprovalsOf(state).filter(isOpen);
}

/**
 * Rejects with `bad_input` if the tool's schema rejects the changed input of an approved call. Also rejects
 * if a guardrail asks about a message, because an approval cannot change a message. The question then stays
 * open. The input of a sub-agent's call is validated when that call runs.
 */
export async function assertInputFits(
  decision: Decision,
  asked: readonly AskedApproval[],
  tools: ReadonlyMap<string, Tool>,
): Promise<void> {
  if (decision.type !== 'approve' || decision.input === undefined) return;
  const { toolCallId, input } = decision;
  const question = asked.find((one) => one.toolCallId === toolCallId);
  if (question?.from?.itemId !== undefined) {
    const message = `Cannot approve question ${toolCallId} with another input: the guardrail ${question.name} asks about a message, which an answer cannot change. Approve it without \`input\`, or deny it`;
    throw new AgentError('bad_input', message, { toolCallId });
  }
  const tool = question?.from === undefined ? tools.get(question?.name ?? '') : undefined;
  if (tool === undefined) return;
  const checked = await validated(tool, input);
  if (checked.ok) return;
  const message = `Cannot approve call ${toolCallId} with this input: it does not fit the tool ${tool.name}. ${checked.problem}`;
  throw new AgentError('bad_input', message, { toolCallId, tool: tool.name });
}

async function validated(tool: Tool, input: JsonValue): Promise<ValidationResult> {
  try {
    return await tool.validate(input);
  } catch (error) {
    return { ok: false, problem: `It could not be checked: ${textOfError(error)}` };
  }
}

/** Rejects with `no_such_session` if the session does not exist. */
export async function assertSession(log: Log, session: SessionId, what: string): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  const message = `Cannot ${what} session ${session}: it does not exist. Call run() with an input instead`;
  throw new AgentError('no_such_session', message, { session });
}

/** A reference to a call: its id, or an entry of `pendingApprovals` or `pendingToolCalls`. */
type CallRef = string | Pick<PendingApproval | PendingToolCall, 'toolCallId'>;

/** Returns the command that approves a call. Throws if an option is invalid. */
export function approveCommand(call: CallRef, options: ApproveOptions<unknown>): Decision {
  assertKnownOptions('approve', options, { input: true, basis: true, by: true, until: true });
  const { input, basis, by, until } = options;
  const lasting = until === Number.POSITIVE_INFINITY ? 'session' : until;
  const isTime = typeof lasting === 'number' && Number.isSafeInteger(lasting) && lasting >= 0;
  if (lasting !== undefined && lasting !== 'session' && !isTime) throw badUntil(until);
  if (lasting !== undefined && input !== undefined) throw lastingChange();
  const toolCallId = callIdOf(call);
  // The log stores JSON. If the input is not JSON, encoding the command throws.
  return { type: 'approve', toolCallId, input: input as JsonValue, basis, by, until: lasting };
}

/** Returns the command that denies a call. Throws if an option is invalid. */
export function denyCommand(call: CallRef, options: DenyOptions): Decision {
  assertKnownOptions('deny', options, { reason: true, by: true });
  const { reason, by } = options;
  return { type: 'deny', toolCallId: callIdOf(call), reason, by };
}

/**
 * Returns the command that provides the output of a call. Throws if the result is neither an output nor an
 * error.
 */
export function toolOutputCommand(call: CallRef, result: ClientToolResult<unknown>): OutputCommand {
  assertKnownOptions('provideToolResult', result, { output: true, error: true, by: true });
  const { output, error, by } = result;
  const toolCallId = callIdOf(call);
  const isBoth = output !== undefined && error !== undefined;
  const isText = error === undefined || typeof error === 'string';
  if (isBoth || !isText || (output === undefined && error === undefined))
    throw badResult(toolCallId, 'pass either { output } or { error } with a text');
  if (error !== undefined) return { type: 'tool_output', toolCallId, error, by };
  const text: string | undefined = JSON.stringify(output);
  const parsed = text === undefined ? undefined : parseJson(text);
  if (!parsed?.ok) throw badResult(toolCallId, 'the output is not JSON');
  return { type: 'tool_output', toolCallId, output: parsed.value, by };
}

function badResult(toolCallId: ToolCallId, why: string): AgentError {
  const message = `Cannot give an output to call ${toolCallId}: ${why}`;
  return new AgentError('bad_input', message, { toolCallId });
}

function callIdOf(call: CallRef): ToolCallId {
  const id: unknown = typeof call === 'object' && call !== null ? call.toolCallId : call;
  if (typeof id === 'string' && isId(id)) return id as ToolCallId;
  const message =
    'Cannot answer a call: pass its id, or an entry of result.pendingApprovals or result.pendingToolCalls of the run';
  throw new AgentError('bad_option', message, { option: 'toolCallId' });
}

function lastingChange(): AgentError {
  const message =
    'Cannot approve other calls together with a changed input: the rule is about the input of the model. Omit `until`, and approve the next call for the session';
  return new AgentError('bad_option', message, { option: 'until' });
}

function badUntil(until: unknown): AgentError {
  const message = `Cannot approve until ${String(until)}: pass 'session', or a time in milliseconds since 1970`;
  return new AgentError('bad_option', message, { option: 'until' });
}
