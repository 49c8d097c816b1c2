import type { CallerOptions } from '@millrace/agent';
import {
  defaultContentLimits,
  type FoldState,
  isId,
  type JsonObject,
  type Part,
  sessionId,
  toArray,
} from '@millrace/core';
import { snapshot } from '@millrace/log';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import { type RouteContext, requestMetadata } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';
import { findPlace } from './fork-response.ts';
import { type InputEntry, joinItems, type NewItem, refused, shown } from './input-items.ts';
import { modelNotFound, notFound } from './openai-error.ts';
import type { DoorRequest } from './request-body.ts';
import { parseItemId, parseResponseId, type ResponseRef, readOptions } from './response-starts.ts';

/**
 * Sends the input of a request to its session, as commands on the log. The response is the answer to the last
 * command, so its id consists of the session and the offset of that command.
 */
export async function openResponse(
  request: DoorRequest,
  context: RouteContext,
): Promise<ResponseRef> {
  const task = await continuedTask(request, context);
  const { agent, model } = await findAgent(request, task, context);
  assertAccepted(agent, request);
  const entries = await resolveReferences(request.entries, context);
  return task === undefined
    ? startSession(agent, model, { ...request, entries }, context)
    : continueSession(task, model, { ...request, entries }, context);
}

interface ContinuedTask {
  readonly id: string;
  readonly agent: AgentInfo;
}

async function continuedTask(
  { continues }: DoorRequest,
  { service, log }: RouteContext,
): Promise<ContinuedTask | undefined> {
  if (continues === undefined) return undefined;
  const { by, id } = continues;
  const taskId = by === 'conversation' ? id : parseResponseId(id)?.taskId;
  const missing = () =>
    by === 'conversation'
      ? notFound('Conversation', id, by)
      : notFound('Previous response', id, by);
  if (taskId === undefined || !isId(taskId)) throw missing();
  const task = await service.tasks.get({ id: taskId }).catch((error: unknown) => {
    throw error instanceof ServerError && error.code === 'not_found' ? missing() : error;
  });
  const agent = task.agents?.[0];
  if (agent === undefined) throw missing();
  await ensureSession(log, sessionId(task.id));
  return { id: task.id, agent };
}

/** Finds the agent, and the model if the name has the form `agent/model`. */
async function findAgent(
  { model: given }: DoorRequest,
  task: ContinuedTask | undefined,
  { service }: RouteContext,
): Promise<{ readonly agent: AgentInfo; readonly model: string | undefined }> {
  if (given === undefined) {
    if (task === undefined)
      throw refused('model', 'it is missing. GET /v1/models lists the models');
    return { agent: task.agent, model: undefined };
  }
  const [, name = '', model] = /^([^/]*)(?:\/(.*))?$/s.exec(given) ?? [];
  const agent = await service.agents.get({ name }).catch((error: unknown) => {
    throw error instanceof ServerError && error.code === 'not_found' ? modelNotFound(given) : error;
  });
  if (!isOffered(agent)) throw modelNotFound(given);
  if (model !== undefined && !modelsOf(agent).includes(model)) throw modelNotFound(given);
  if (task !== undefined && task.agent.id !== agent.id)
    throw refused('model', `this conversation belongs to the agent ${task.agent.name}`);
  return { agent, model };
}

/** Returns whether the endpoints offer the agent. They need commands and runs, so they offer agent loops. */
export function isOffered({ registration_metadata: metadata }: AgentInfo): boolean {
  return metadata?.['kind'] === 'loop';
}

/** Returns the names of the models that a message to the agent can choose. */
export function modelsOf({ registration_metadata: metadata }: AgentInfo): readonly string[] {
  const models = metadata?.['models'];
  return Array.isArray(models) ? models.map(String) : [];
}

/** Refuses options of the caller if the agent does not accept them. */
function assertAccepted(agent: AgentInfo, { caller, entries, serverLabels }: DoorRequest): void {
  const other = serverLabels.find((label) => label !== agent.name);
  if (other !== undefined)
    throw refused('tools', `the server does not connect to the MCP server ${other} of a request`);
  if (agent.registration_metadata?.['caller_options'] === 'accept') return;
  const param = firstOption(caller) ?? (entries.some(isInstruction) ? 'input' : undefined);
  if (param === undefined) return;
  const what = param === 'input' ? 'instructions in messages' : 'this field';
  throw refused(
    param,
    `the agent ${agent.name} does not accept ${what} of its callers. Leave it out, or create the agent with callerOptions: 'accept'`,
  );
}

function firstOption({ tools, instructions, request = {}, output }: CallerOptions) {
  if (tools !== undefined) return 'tools';
  if (instructions !== undefined) return 'instructions';
  if (output !== undefined) return 'text.format';
  // A value that is OpenAI's own default asks for nothing.
  const { temperature, topP, ...rest } = request;
  if (temperature !== undefined && temperature !== 1) return 'temperature';
  if (topP !== undefined && topP !== 1) return 'top_p';
  return Object.keys(rest)[0];
}

function isInstruction(entry: InputEntry): boolean {
  return entry.type === 'item' && ['system', 'developer'].includes(entry.item.kind);
}

/** Maximum number of sessions to whose items one request can refer. Each of them is loaded. */
const maxReferencedSessions = 16;
/** Maximum length of all items to which one request refers, as JSON. A message cannot be longer. */
const maxReferencedLength = defaultContentLimits.maxTextLength;

/** Replaces references to items of earlier responses by the items. */
async function resolveReferences(
  entries: readonly InputEntry[],
  context: RouteContext,
): Promise<readonly InputEntry[]> {
  const resolved: InputEntry[] = [];
  const sessions = new Map<string, ReferencedParts>();
  const used = new Set<string>();
  let length = 0;
  const add = (kind: 'assistant' | 'tool', part: Part) => {
    length += JSON.stringify(part).length;
    if (length > maxReferencedLength)
      throw refused(
        'input',
        `its references stand for more than ${maxReferencedLength} characters`,
      );
    resolved.push({ type: 'item', item: { kind, parts: [part] } });
  };
  for (const entry of entries) {
    if (entry.type !== 'reference') {
      resolved.push(entry);
      continue;
    }
    const { id } = entry;
    const found = parseItemId(id);
    if (found === undefined) throw notFound('Item', id, 'input');
    if (used.has(id)) throw refused('input', `it refers to the item ${id.slice(0, 256)} twice`);
    used.add(id);
    const read = () => readParts(found.taskId, context);
    const parts = sessions.get(found.taskId) ?? (await context.inTurn(read, 'refuse'));
    sessions.set(found.taskId, parts);
    if (sessions.size > maxReferencedSessions)
      throw refused('input', `it refers to more than ${maxReferencedSessions} sessions`);
    const part = parts.written.get(found.partId);
    if (part === undefined) throw notFound('Item', id, 'input');
    if (parts.unchecked.has(found.partId)) throw notComplete(id);
    if (part.kind === 'reasoning') continue;
    add('assistant', part);
    if (part.kind !== 'tool_call' || !id.startsWith('mcp_')) continue;
    const result = parts.results.get(part.toolCallId);
    if (result !== undefined) add('tool', result);
  }
  return resolved;
}

/** The parts of a session to which a request can refer. */
interface ReferencedParts {
  /** The parts that the model wrote, by part id. */
  readonly written: ReadonlyMap<string, Part>;
  /** The results of tools, by call id. */
  readonly results: ReadonlyMap<string, Part>;
  /** The ids of the parts that guardrails may not have checked yet. */
  readonly unchecked: ReadonlySet<string>;
}

async function readParts(taskId: string, { service, log }: RouteContext): Promise<ReferencedParts> {
  await service.tasks.get({ id: taskId });
  const state = await snapshot(log, sessionId(taskId));
  const written = new Map<string, Part>();
  const results = new Map<string, Part>();
  for (const { kind, parts } of toArray(state.items))
    for (const { id, part } of parts) {
      if (part?.kind === 'tool_result') results.set(part.toolCallId, part);
      else if (kind === 'assistant' && part !== undefined) written.set(id, part);
    }
  return { written, results, unchecked: uncheckedParts(state) };
}

/**
 * Returns the parts of the last turn, if output guardrails may still check its answer. This is so while a run is
 * active, unless calls of the turn wait for a client: they wait only after the check. It is also so if a guardrail asks
 * about the answer.
 */
function uncheckedParts({ items, run, asked, awaited }: FoldState): ReadonlySet<string> {
  const all = toArray(items);
  const last = all.reduce((turn, item) => Math.max(turn, item.turn), 0);
  const ofGuardrail = asked.filter(({ from }) => from?.itemId !== undefined);
  const ofCalls = [...awaited, ...asked].filter((one) => !ofGuardrail.some((it) => it === one));
  const isOpen = run !== undefined && !ofCalls.some(({ turn }) => turn === last);
  const unchecked = all.filter(
    ({ id, turn }) =>
      turn > 0 &&
      ((isOpen && turn === last) || ofGuardrail.some(({ from }) => from?.itemId === id)),
  );
  return new Set(unchecked.flatMap(({ parts }) => parts.map(({ id }) => id)));
}

async function startSession(
  agent: AgentInfo,
  model: string | undefined,
  request: DoorRequest,
  context: RouteContext,
): Promise<ResponseRef> {
  const items = withOptions(joinItems(request.entries), request);
  if (items.length === 0) throw refused('input', 'it is empty');
  const sent = requestMetadata(context);
  const { id: taskId } = await context.service.tasks.create(agent.id, {}, sent);
  return sendItems({ taskId, items, model }, context);
}

async function continueSession(
  task: ContinuedTask,
  model: string | undefined,
  request: DoorRequest,
  context: RouteContext,
): Promise<ResponseRef> {
  const { entries, continues, caller } = request;
  const previous = continues?.by === 'previous_response_id' ? continues.id : undefined;
  const find = () => findPlace({ taskId: task.id, previous, entries }, context);
  const { fold, fork } = await context.inTurn(find, 'refuse');
  const target = async () =>
    fork === undefined
      ? task.id
      : (await context.service.tasks.copy(task.id, fork, requestMetadata(context))).id;
  const waiting = [...fold.awaited, ...fold.asked].map(({ toolCallId }) => String(toolCallId));
  const answers = entries.filter((entry) => entry.type === 'output' || entry.type === 'approval');
  const rest = entries.filter((entry) => entry.type === 'item');
  if (answers.length === 0) {
    const [open] = waiting;
    if (open !== undefined) throw unanswered(open, fold.asked.length > 0);
    if (rest.length === 0) throw refused('input', 'it is empty');
    const items = withOptions(joinItems(rest), request);
    return sendItems({ taskId: await target(), items, model }, context);
  }
  const answered = new Set(answers.map(({ callId }) => callId));
  const open = waiting.find((call) => !answered.has(call));
  if (open !== undefined)
    throw unanswered(open, !fold.awaited.some((one) => one.toolCallId === open));
  const isNew = fork !== undefined || rest.length > 0;
  for (const answer of answers) assertWaiting(answer, fold, isNew);
  await assertSameTools(task.id, caller, context, fork?.through);
  const taskId = await target();
  // The message joins the request that follows the outputs, so it must be on the log before the last output.
  if (rest.length > 0)
    await sendItems({ taskId, items: joinItems(rest), model, isSteer: true }, context);
  let offset = 0;
  for (const answer of answers) {
    const { service, trace } = context;
    const sent = await service.tasks.submit(taskId, commandOf(answer), { trace });
    offset = Math.max(offset, sent.offset);
  }
  return { taskId, offset };
}

interface SentItems {
  readonly taskId: string;
  readonly items: readonly NewItem[];
  readonly model: string | undefined;
  readonly isSteer?: boolean;
}

async function sendItems(
  { taskId, items, model, isSteer = false }: SentItems,
  context: RouteContext,
): Promise<ResponseRef> {
  const content = { type: 'text', author: 'user', content: '' } as never;
  const command: Command = { type: isSteer ? 'steer' : 'message', content, model };
  const metadata = isSteer ? { trace: context.trace } : requestMetadata(context);
  const sent = { ...metadata, extras: { items } };
  const { offset } = await context.service.tasks.submit(taskId, command, sent);
  return { taskId, offset };
}

/** Adds the options of the caller to the last message of the user. The agent reads them there. */
function withOptions(
  items: readonly NewItem[],
  { caller, echo }: Pick<DoorRequest, 'caller' | 'echo'>,
): readonly NewItem[] {
  const last = items.findLastIndex(({ kind }) => kind === 'user');
  const at = last < 0 ? items.length - 1 : last;
  const metadata: JsonObject = { caller: JSON.parse(JSON.stringify(caller)), openai: echo };
  return items.map((item, index) => (index === at ? { ...item, metadata } : item));
}

function commandOf(answer: AnswerEntry): Command {
  const call = { tool_call_id: answer.callId, by: 'openai' };
  if (answer.type === 'output') return { type: 'tool_output', ...call, output: answer.output };
  if (answer.isApproved) return { type: 'approve', ...call };
  return { type: 'deny', ...call, reason: answer.reason };
}

/**
 * Refuses other tools than the tools of the message that made the calls. The agent offers the tools of the
 * message until the next message.
 */
async function assertSameTools(
  taskId: string,
  { tools }: CallerOptions,
  context: RouteContext,
  through: number | undefined,
): Promise<void> {
  if (tools === undefined) return;
  const { caller } = await readOptions(taskId, context, through);
  if (JSON.stringify(caller.tools ?? []) === JSON.stringify(tools)) return;
  throw refused('tools', 'they cannot change between a call and its output. Send the same tools');
}

type AnswerEntry = Extract<InputEntry, { readonly callId: string }>;

/**
 * Refuses an answer of the wrong kind before anything is written. If the request also makes a fork or adds a message,
 * it refuses an answer to a call that does not wait. Other answers can be a repetition of an earlier request.
 */
function assertWaiting(
  { type, callId }: AnswerEntry,
  { awaited, asked }: Pick<FoldState, 'awaited' | 'asked'>,
  isNew: boolean,
): void {
  const has = (calls: readonly { readonly toolCallId: string }[]) =>
    calls.some(({ toolCallId }) => toolCallId === callId);
  const [fitting, other] = type === 'output' ? [awaited, asked] : [asked, awaited];
  if (has(fitting) || (!isNew && !has(other))) return;
  const what = type === 'output' ? 'an output' : 'an approval';
  throw refused('input', `the call ${shown(callId)} does not wait for ${what}`);
}

function notComplete(id: string): ServerError {
  const message = `Cannot refer to ${shown(id)}: its response is not complete. Wait for its end, and answer its questions`;
  const details = { param: 'input', reason: 'response_not_complete' };
  return new ServerError('bad_state', message, {}, { details });
}

function unanswered(callId: string, isQuestion: boolean): ServerError {
  const [what, type] = isQuestion
    ? ['approval response', 'mcp_approval_response']
    : ['tool output', 'function_call_output'];
  const message = `No ${what} found for function call ${callId}. Send an item of the type ${type}, or cancel the response`;
  const details = { param: 'input', reason: 'unanswered_call' };
  return new ServerError('bad_state', message, {}, { details });
}
