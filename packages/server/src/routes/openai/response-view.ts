import {
  type Attempt,
  addUsage,
  attemptOf,
  type FoldState,
  findItemOfPart,
  findOpen,
  type ItemState,
  type LogRecord,
  noUsage,
  type Part,
  type PartId,
  type ToolResultPart,
  toArray,
  type Usage,
} from '@millrace/core';
import { openPart } from '../../messages/part-content.ts';
import { PartIndex } from '../../messages/part-index.ts';
import type { Question, ResponseEnd, ResponseStep } from './response-log.ts';
import { type OutputItem, type ResponseResource, resourceOf } from './response-resource.ts';
import { outputId, responseId } from './response-starts.ts';

/** An event of the Responses API. */
export interface ResponseEvent {
  readonly type: string;
  /**
   * A number that grows with each event. It is derived from the offset of the record, so that every reader
   * gets the same number for the same event.
   */
  readonly sequence_number: number;
  readonly response?: ResponseResource;
  readonly item?: OutputItem;
  readonly output_index?: number;
  readonly item_id?: string;
  readonly delta?: string;
  readonly [field: string]: unknown;
}

type EventBody = { readonly type: string } & { readonly [field: string]: unknown };

/** The place of an output item. Its content is in the folded state. */
interface Slot {
  readonly id: string;
  readonly kind: 'message' | 'reasoning' | 'function_call' | 'mcp_call' | 'mcp_approval_request';
  /** The part that the item shows. An approval has the part of its call, or none. */
  readonly partId: PartId | undefined;
  readonly callId: string | undefined;
  /** The index of the item in the output. */
  readonly at: number;
  /** The attempt whose answer a guardrail asks about. Undefined for other items. */
  readonly about?: Attempt | undefined;
  status: 'open' | 'done' | 'dropped';
  /** True if a guardrail, or a person whom it asked, refused the content. */
  isWithheld?: boolean;
  /** The item as it was when it ended, for items without a part. */
  item?: OutputItem;
}

/** The events of one record have numbers in a range of this length. */
const numbersPerRecord = 64;

/**
 * Converts the records of a response to events of the Responses API. It keeps only the order of the output
 * items. All content comes from the folded state.
 */
export class ResponseView {
  readonly #question: Question;
  readonly #agent: string;
  readonly #callerTools: ReadonlySet<string>;
  readonly #slots: Slot[] = [];
  /** The first slot of each part. */
  readonly #slotOfPart = new Map<PartId, Slot>();
  /** The slots by their ids, kinds and calls, so that an event needs no search. */
  readonly #slotOfCall = new Map<string, Slot>();
  readonly #parts = new PartIndex();
  readonly #turns = new Set<number>();
  #state: FoldState | undefined;
  #end: ResponseEnd | undefined;
  #hasStarted = false;
  #last = -1;

  constructor(question: Question, agent: string) {
    this.#question = question;
    this.#agent = agent;
    this.#callerTools = new Set((question.caller.tools ?? []).map(({ name }) => name));
  }

  /** Returns the first event, which describes the response before its first record. */
  created(): readonly ResponseEvent[] {
    const type = this.#question.echo['background'] === true ? 'queued' : 'in_progress';
    const created = { type: 'response.created', response: this.resource() };
    return this.#numbered(this.#question.offset, [
      { ...created, response: { ...created.response, status: type } },
    ]);
  }

  /** Returns the events of a record. */
  add(step: ResponseStep): readonly ResponseEvent[] {
    const { record, after, before, end } = step;
    this.#state = after.fold;
    const isFirst = !this.#hasStarted;
    this.#hasStarted = true;
    const started = isFirst ? [{ type: 'response.in_progress', response: this.resource() }] : [];
    // The events of a removal describe the parts that the record removes.
    const removes =
      record.delta?.type === 'retract_part' || record.fact?.type === 'attempt_superseded';
    if (!removes) this.#parts.update(record, after.fold);
    const events = [...started, ...this.#eventsOf(before.fold, record, after.fold)];
    if (removes) this.#parts.update(record, after.fold);
    this.#end = end;
    if (end !== undefined) events.push(...this.#ending(after.fold));
    return this.#numbered(record.offset, events);
  }

  /** Returns the response with its current content. */
  resource(): ResponseResource {
    const state = this.#state;
    const output = this.#slots.flatMap((slot) => {
      if (slot.status === 'dropped' || state === undefined) return [];
      return this.#itemOf(state, slot) ?? [];
    });
    const usage = state && this.#usage(state);
    return resourceOf(this.#question, {
      ...{ agent: this.#agent, output, usage, end: this.#end, hasStarted: this.#hasStarted },
      id: responseId(this.#question),
    });
  }

  /** Returns whether the item with this index was refused. Later readers must not get its events. */
  isWithheld(outputIndex: number): boolean {
    return this.#slots[outputIndex]?.isWithheld === true;
  }

  #numbered(offset: number, events: readonly EventBody[]): readonly ResponseEvent[] {
    const first = (offset - this.#question.offset) * numbersPerRecord;
    return events.map((event) => {
      this.#last = Math.max(this.#last + 1, first);
      const { type, ...rest } = event;
      return { type, sequence_number: this.#last, ...rest };
    });
  }

  #eventsOf(before: FoldState, record: LogRecord, after: FoldState): EventBody[] {
    const { delta, fact, turn } = record;
    if (fact !== undefined) return this.#factEvents(record, before, after);
    if (before === after || delta.type === 'unknown') return [];
    if (delta.type === 'retract_part')
      return this.#drop(before, delta.reason, ({ partId }) => partId === delta.partId);
    if (!this.#turns.has(turn) && delta.type !== 'commit_part') return [];
    switch (delta.type) {
      case 'begin_part':
        return this.#begin(after, delta.partId);
      case 'append_text': {
        const open = findOpen(before, delta.partId);
        const slot = this.#slotOfPart.get(delta.partId);
        if (open === undefined || slot === undefined) return [];
        return this.#grow(slot, delta.chunk.slice(open.text.length - delta.at));
      }
      case 'commit_part':
        return this.#commit(before, delta.partId, after);
      default:
        return [];
    }
  }

  #factEvents(
    { fact, turn, attempt }: LogRecord,
    before: FoldState,
    after: FoldState,
  ): EventBody[] {
    switch (fact?.type) {
      case 'turn_started':
        this.#turns.add(turn);
        return [];
      case 'attempt_superseded':
        return this.#drop(before, fact.reason, ({ partId, about }) => {
          const at = partId === undefined ? about : attemptOf(partId);
          return at?.turn === turn && at.attempt === attempt;
        });
      case 'snapshot':
        return this.#settled(after, turn);
      case 'tool_execution_started':
        return this.#startCall(fact.toolCallId);
      case 'approval_asked':
        return this.#ask(fact, { turn, attempt });
      default:
        return [];
    }
  }

  /** Emits the parts of a turn whose deltas were replaced by a snapshot. */
  #settled(after: FoldState, turn: number): EventBody[] {
    if (!this.#turns.has(turn)) return [];
    const items = toArray(after.items).filter((item) => item.turn === turn);
    return items.flatMap((item) =>
      item.parts.flatMap(({ id, part }) =>
        part === undefined ? [] : this.#whole(after, item, id, part),
      ),
    );
  }

  #begin(after: FoldState, partId: PartId): EventBody[] {
    const open = findOpen(after, partId);
    const item = findItemOfPart(after, partId);
    if (open === undefined || item?.kind !== 'assistant') return [];
    const { begin } = open;
    if (begin.kind === 'text') return this.#open('message', partId);
    if (begin.kind === 'reasoning') return this.#open('reasoning', partId);
    if (begin.kind !== 'tool_call' || !this.#callerTools.has(begin.name)) return [];
    return this.#open('function_call', partId, begin.toolCallId);
  }

  #open(kind: Exclude<Slot['kind'], 'mcp_approval_request'>, partId: PartId, callId?: string) {
    const id = outputId(kind, this.#question.taskId, partId);
    const slot = this.#push({ id, kind, partId, callId, status: 'open' });
    const state = this.#state as FoldState;
    const item = { ...(this.#itemOf(state, slot) as OutputItem), ...emptyContent(kind) };
    const added = { type: 'response.output_item.added', ...this.#at(slot), item };
    const about = { item_id: id, ...this.#at(slot) };
    if (kind === 'message') {
      const part = textContent('');
      return [added, { type: 'response.content_part.added', ...about, content_index: 0, part }];
    }
    if (kind !== 'reasoning') return [added];
    const part = { type: 'summary_text', text: '' };
    const type = 'response.reasoning_summary_part.added';
    return [added, { type, ...about, summary_index: 0, part }];
  }

  #push(given: Omit<Slot, 'at'>): Slot {
    const slot: Slot = { ...given, at: this.#slots.length };
    this.#slots.push(slot);
    const { kind, partId, callId } = slot;
    if (partId !== undefined && !this.#slotOfPart.has(partId)) this.#slotOfPart.set(partId, slot);
    if (callId !== undefined) this.#slotOfCall.set(`${kind} ${callId}`, slot);
    return slot;
  }

  #at({ at }: Slot): { readonly output_index: number } {
    return { output_index: at };
  }

  #grow(slot: Slot, delta: string): EventBody[] {
    if (delta === '' || slot.status !== 'open') return [];
    const about = { item_id: slot.id, ...this.#at(slot) };
    switch (slot.kind) {
      case 'message':
        return [
          {
            type: 'response.output_text.delta',
            ...{ ...about, content_index: 0, delta, logprobs: [] },
          },
        ];
      case 'reasoning':
        return [
          { type: 'response.reasoning_summary_text.delta', ...about, summary_index: 0, delta },
        ];
      case 'function_call':
        return [{ type: 'response.function_call_arguments.delta', ...about, delta }];
      default:
        return [];
    }
  }

  #commit(before: FoldState, partId: PartId, after: FoldState): EventBody[] {
    const part = this.#parts.part(partId);
    if (part === undefined) return [];
    const slot = this.#slotOfPart.get(partId);
    if (slot === undefined || slot.kind === 'mcp_call')
      return this.#whole(after, findItemOfPart(after, partId), partId, part);
    const sent = findOpen(before, partId)?.text ?? '';
    const text = contentOf(part);
    const rest = text.startsWith(sent) ? this.#grow(slot, text.slice(sent.length)) : [];
    return [...rest, ...this.#finish(after, slot)];
  }

  /** Emits a part that came whole: a complete text, reasoning, a call of the caller, or a result. */
  #whole(state: FoldState, item: ItemState | undefined, partId: PartId, part: Part): EventBody[] {
    const known = this.#slotOfPart.get(partId);
    if (part.kind === 'tool_result') return this.#finishCall(state, part);
    if (known !== undefined) return known.status === 'open' ? this.#finish(state, known) : [];
    if (item?.kind !== 'assistant' || !this.#turns.has(item.turn)) return [];
    const kind = kindOf(part);
    if (kind === undefined) return [];
    if (part.kind === 'tool_call' && !this.#callerTools.has(part.name)) return [];
    const callId = part.kind === 'tool_call' ? part.toolCallId : undefined;
    const opened = this.#open(kind, partId, callId);
    const slot = this.#slots.at(-1) as Slot;
    return [...opened, ...this.#grow(slot, contentOf(part)), ...this.#finish(state, slot)];
  }

  /** Emits the events that end an item. */
  #finish(state: FoldState, slot: Slot): EventBody[] {
    if (slot.status !== 'open') return [];
    const item = this.#itemOf(state, slot);
    slot.status = 'done';
    if (item === undefined) return [];
    const done = { ...item, ...this.#itemOf(state, slot) };
    const about = { item_id: slot.id, ...this.#at(slot) };
    const text = textOfItem(done);
    const end = { type: 'response.output_item.done', ...this.#at(slot), item: done };
    switch (slot.kind) {
      case 'message':
        return [
          {
            type: 'response.output_text.done',
            ...{ ...about, content_index: 0, text, logprobs: [] },
          },
          {
            type: 'response.content_part.done',
            ...{ ...about, content_index: 0, part: textContent(text) },
          },
          end,
        ];
      case 'reasoning': {
        const part = { type: 'summary_text', text };
        return [
          { type: 'response.reasoning_summary_text.done', ...about, summary_index: 0, text },
          { type: 'response.reasoning_summary_part.done', ...about, summary_index: 0, part },
          end,
        ];
      }
      case 'function_call': {
        const { name, arguments: given } = done;
        const type = 'response.function_call_arguments.done';
        return [{ type, ...about, name, arguments: given }, end];
      }
      case 'mcp_call': {
        const type = `response.mcp_call.${done['error'] == null ? 'completed' : 'failed'}`;
        return [{ type, ...about }, end];
      }
      case 'mcp_approval_request':
        return [end];
    }
  }

  /** Emits a call that the agent runs itself. Clients see it as a call of an MCP server. */
  #startCall(callId: string): EventBody[] {
    if (this.#slotOfCall.has(`mcp_call ${callId}`)) return [];
    const found = this.#ownCall(callId);
    if (found === undefined) return [];
    const added = this.#open('mcp_call', found.partId, callId);
    const slot = this.#slots.at(-1) as Slot;
    const about = { item_id: slot.id, ...this.#at(slot) };
    const { arguments: given } = found.part;
    return [
      ...added,
      { type: 'response.mcp_call.in_progress', ...about },
      { type: 'response.mcp_call_arguments.done', ...about, arguments: given },
    ];
  }

  /** Returns a call that the agent runs itself. Calls in the input of the caller belong to no turn. */
  #ownCall(callId: string): ReturnType<PartIndex['call']> {
    const found = this.#parts.call(callId);
    if (found === undefined || this.#callerTools.has(found.part.name)) return undefined;
    return attemptOf(found.partId).turn === 0 ? undefined : found;
  }

  #finishCall(state: FoldState, { toolCallId }: ToolResultPart): EventBody[] {
    const isOfCaller = this.#slotOfCall.has(`function_call ${toolCallId}`);
    if (isOfCaller || this.#ownCall(toolCallId) === undefined) return [];
    const started = this.#startCall(toolCallId);
    const slot = this.#slotOfCall.get(`mcp_call ${toolCallId}`);
    return slot === undefined ? started : [...started, ...this.#finish(state, slot)];
  }

  #ask(
    fact: Extract<LogRecord['fact'], { readonly type: 'approval_asked' }>,
    at: Attempt,
  ): EventBody[] {
    const { toolCallId: callId, name, from } = fact;
    const id = `mcpr_${callId}`;
    const asked = this.#slotOfCall.get(`mcp_approval_request ${callId}`);
    if (asked !== undefined && asked.status !== 'dropped') return [];
    const found = this.#parts.call(callId);
    const given = from === undefined ? found?.part.arguments : JSON.stringify(from.input);
    const item: OutputItem = {
      ...{ type: 'mcp_approval_request', id, server_label: this.#agent },
      ...{ name, arguments: given ?? '{}' },
    };
    const kind = 'mcp_approval_request';
    const about = from?.itemId === undefined ? undefined : at;
    const partId = found?.partId;
    const slot = this.#push({ id, kind, partId, callId, about, status: 'done', item });
    const shown = { ...this.#at(slot), item };
    return [
      { type: 'response.output_item.added', ...shown },
      { type: 'response.output_item.done', ...shown },
    ];
  }

  /** Ends the items whose parts were retracted. The final response does not contain them. */
  #drop(before: FoldState, reason: string, isDropped: (slot: Slot) => boolean): EventBody[] {
    return this.#slots.filter(isDropped).flatMap((slot) => {
      const item = slot.status === 'open' ? this.#itemOf(before, slot) : undefined;
      slot.status = 'dropped';
      slot.isWithheld = reason === 'guardrail';
      if (item === undefined) return [];
      const done = slot.kind === 'reasoning' ? item : { ...item, status: 'incomplete' };
      return [{ type: 'response.output_item.done', ...this.#at(slot), item: done }];
    });
  }

  #ending(state: FoldState): EventBody[] {
    const closed = this.#slots.flatMap((slot) => this.#finish(state, slot));
    const response = this.resource();
    const type =
      response.status === 'cancelled' ? 'response.incomplete' : `response.${response.status}`;
    return [...closed, { type, response }];
  }

  #itemOf(state: FoldState, slot: Slot): OutputItem | undefined {
    if (slot.item !== undefined) return slot.item;
    const { id, kind, partId } = slot;
    const part =
      partId === undefined ? undefined : (this.#parts.part(partId) ?? openPart(state, partId));
    if (part === undefined) return undefined;
    const isOver = slot.status !== 'open';
    const status = !isOver ? 'in_progress' : part.partial === true ? 'incomplete' : 'completed';
    switch (kind) {
      case 'message':
        return {
          ...{ id, type: 'message', status, role: 'assistant' },
          content: [textContent(contentOf(part))],
        };
      case 'reasoning':
        return {
          ...{ id, type: 'reasoning' },
          summary: [{ type: 'summary_text', text: contentOf(part) }],
        };
      case 'function_call':
        return { id, type: 'function_call', status, ...callFields(state, part) };
      case 'mcp_call':
        return this.#mcpCall(state, slot, part);
      case 'mcp_approval_request':
        return undefined;
    }
  }

  #mcpCall(state: FoldState, { id, callId }: Slot, part: Part): OutputItem {
    const result = callId === undefined ? undefined : this.#parts.result(callId);
    const { name, arguments: given } = callFields(state, part);
    const call = { id, type: 'mcp_call', server_label: this.#agent, name, arguments: given };
    if (result === undefined) return { ...call, status: 'in_progress', output: null, error: null };
    const { isError, text } = result;
    return isError
      ? { ...call, status: 'failed', output: null, error: text }
      : { ...call, status: 'completed', output: text, error: null };
  }

  #usage(state: FoldState): Usage | undefined {
    const own = toArray(state.usage).filter(({ turn }) => this.#turns.has(turn));
    return own.length === 0 ? undefined : own.map(({ usage }) => usage).reduce(addUsage, noUsage);
  }
}

function emptyContent(kind: Slot['kind']): Readonly<Record<string, unknown>> {
  if (kind === 'message') return { content: [] };
  if (kind === 'reasoning') return { summary: [] };
  return kind === 'function_call' ? { arguments: '' } : {};
}

export function textContent(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function kindOf({ kind }: Part): 'message' | 'reasoning' | 'function_call' | undefined {
  if (kind === 'text' || kind === 'structured') return 'message';
  if (kind === 'reasoning') return 'reasoning';
  return kind === 'tool_call' ? 'function_call' : undefined;
}

/** Returns the text of a part as clients of OpenAI expect it. */
export function contentOf(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'structured':
      return JSON.stringify(part.value);
    case 'tool_call':
      return part.arguments;
    default:
      return '';
  }
}

/** Returns the fields of a call. The user or a guardrail may have changed the input of the model. */
function callFields({ awaited }: FoldState, part: Part) {
  if (part.kind !== 'tool_call') return { call_id: '', name: '', arguments: '{}' };
  const { toolCallId: call_id, name, arguments: given } = part;
  const changed = awaited.find(({ toolCallId }) => toolCallId === call_id)?.input;
  return { call_id, name, arguments: changed === undefined ? given : JSON.stringify(changed) };
}

function textOfItem(item: OutputItem): string {
  const [first] = (item['content'] ?? item['summary'] ?? []) as { readonly text: string }[];
  return first?.text ?? '';
}
