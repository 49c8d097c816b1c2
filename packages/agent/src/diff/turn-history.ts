import {
  type Attempt,
  attemptOf,
  type Delta,
  type Fact,
  type ItemId,
  type ItemKind,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  type PartId,
  type ToolCallId,
} from '@millrace/core';
import { SpanFold } from '@millrace/core/spans';
import {
  commitStreamed,
  type PartContent,
  type RecordPlace,
  streamedContent,
  wholeContent,
} from './content.ts';
import type { DiffCause } from './session-diff.ts';

/** A fact that two runs can have in common, without its ids and times. */
export interface Step extends RecordPlace {
  readonly cause: DiffCause;
  readonly attempt: number;
  readonly value: JsonObject;
}

/** An item with its content. */
export interface HistoryItem {
  readonly itemId: ItemId;
  readonly kind: ItemKind;
  readonly first: RecordPlace;
  readonly parts: PartContent[];
}

/** The end of a response, with the number of tokens that the provider counted in the request. */
export interface CountedRequest extends RecordPlace {
  readonly inputTokens: number;
}

/** An item that is not finished. Its content can arrive in a later turn. */
export interface OpenItem {
  readonly kind: ItemKind;
  /** The command that brought the item. Undefined if it did not come from a command. */
  readonly command: RecordPlace | undefined;
}

/** The records of one turn, and of the input before it, in an order that does not depend on time. */
export class TurnHistory {
  readonly turn: number;
  readonly spans: SpanFold;
  /** The offset and time of the first and the last record. */
  first: LogRecord | undefined;
  last: LogRecord | undefined;
  /** The facts of the driver, in order. */
  readonly steps: Step[] = [];
  /** The items of the turn, in order. */
  readonly items: Map<ItemId, HistoryItem> = new Map();
  /** The facts and commands about each call, by the id of the call. */
  readonly calls: Map<ToolCallId, Step[]> = new Map();
  /** The requests whose tokens the provider counted, by attempt. */
  readonly requests: Map<number, CountedRequest> = new Map();
  /** The attempts that were superseded. */
  readonly superseded: Set<number> = new Set();
  /** The calls whose result a branch replaced. They have no execution in this session. */
  readonly givenResults: Set<ToolCallId> = new Set();
  /**
   * The time between the copied records and the records of a branch, in milliseconds. Nobody worked in this
   * time. `answerMs` is the same time if an answer was open.
   */
  gap: { readonly ms: number; readonly answerMs: number } = { ms: 0, answerMs: 0 };
  #isAnswering = false;
  /** True if a snapshot replaced the deltas of the turn. Superseded and retracted content is then missing. */
  isSettled = false;
  readonly #parts = new Map<PartId, PartContent>();
  /** The call that each question of a sub-agent or a running tool belongs to. */
  readonly #questions = new Map<ToolCallId, ToolCallId>();

  constructor(turn: number, after: number) {
    this.turn = turn;
    this.spans = new SpanFold({ after });
  }

  /** Adds a record. `open` returns the item of a part, which can belong to an earlier turn. */
  add(record: LogRecord, open: (id: ItemId) => OpenItem | undefined): void {
    if (record.fact?.type === 'branched') this.#addGap(record);
    this.first ??= record;
    this.last = record;
    this.spans.add(record);
    const { delta, fact } = record;
    if (delta !== undefined) this.#addDelta(delta, record, open);
    else this.#addFact(fact, record, open);
  }

  #addGap({ time, turn }: LogRecord): void {
    // The time outside of turns does not count.
    const waitedMs = turn === 0 ? 0 : Math.max(0, time - (this.last?.time ?? time));
    const answerMs = this.gap.answerMs + (this.#isAnswering ? waitedMs : 0);
    this.gap = { ms: this.gap.ms + waitedMs, answerMs };
  }

  /** Adds a command when it takes effect. */
  addCommand(command: JsonObject, place: RecordPlace, error: string | undefined): void {
    const { type = null, toolCallId } = command;
    // A message without an error adds items to the log. The diff compares these items, so it does not need
    // the command too.
    if (type === 'message' && error === undefined) return;
    // A label does not change what the agent does.
    if (type === 'label') return;
    const step: Step = {
      ...{ ...place, cause: 'command', attempt: 0 },
      value: { command: commandValue(command), ...(error !== undefined && { error }) },
    };
    if (typeof toolCallId === 'string') this.#callSteps(toolCallId as ToolCallId).push(step);
    else this.steps.push(step);
  }

  /** Adds a command that no driver has read. */
  addUnread(command: JsonObject, place: RecordPlace): void {
    if (command['type'] === 'label') return;
    const value = { command: commandValue(command) };
    this.steps.push({ ...place, cause: 'command', attempt: 0, value });
  }

  #addDelta(delta: Delta, record: LogRecord, open: (id: ItemId) => OpenItem | undefined): void {
    if (delta.type === 'unknown') return;
    const { attempt } = record;
    const place: RecordPlace = { offset: record.offset, type: delta.type };
    const known = this.#parts.get(delta.partId);
    switch (delta.type) {
      case 'begin_part': {
        const input = this.#item(delta.itemId, place, open);
        return this.#addPart(
          delta.partId,
          streamedContent(delta, attempt, input.command ?? place),
          input.item,
        );
      }
      case 'commit_part': {
        if (delta.part === undefined) {
          if (known !== undefined) commitStreamed(known, delta, place);
          return;
        }
        const { item, command = place } = this.#item(delta.itemId, place, open);
        const whole = wholeContent(delta.part, delta.itemId, attempt, command);
        if (known === undefined) this.#addPart(delta.partId, whole, item);
        else Object.assign(known, whole, { replaced: known.pieces });
        return;
      }
      case 'append_text':
      case 'append_bytes':
        known?.pieces.push({ ...place, chunk: delta.chunk });
        return;
      case 'replace_structured':
        if (known !== undefined) known.value = { ...place, value: delta.value };
        return;
      case 'retract_part':
        if (known !== undefined) known.retracted = place;
        return;
      case 'set_metadata':
        return;
    }
  }

  #addPart(id: PartId, content: PartContent, item: HistoryItem): void {
    if (this.#parts.has(id)) return;
    this.#parts.set(id, content);
    item.parts.push(content);
  }

  #item(
    id: ItemId,
    place: RecordPlace,
    open: (id: ItemId) => OpenItem | undefined,
  ): { readonly item: HistoryItem; readonly command?: RecordPlace } {
    const { kind = 'assistant', command } = open(id) ?? {};
    let item = this.items.get(id);
    if (item === undefined) {
      item = { itemId: id, kind, first: command ?? place, parts: [] };
      this.items.set(id, item);
    }
    return command === undefined ? { item } : { item, command };
  }

  #addFact(fact: Fact, record: LogRecord, open: (id: ItemId) => OpenItem | undefined): void {
    const { attempt, offset } = record;
    const place: RecordPlace = { offset, type: fact.type };
    if (fact.type === 'item_started') this.#item(fact.itemId, place, open);
    if (fact.type === 'response_started') this.#isAnswering = true;
    if (fact.type === 'attempt_superseded') this.superseded.add(attempt);
    if (fact.type === 'branched') for (const id of fact.results ?? []) this.givenResults.add(id);
    if (fact.type === 'response_finished') {
      this.#isAnswering = false;
      const { input, estimated } = fact.usage;
      if (!estimated && input > 0) this.requests.set(attempt, { ...place, inputTokens: input });
    }
    if (fact.type === 'snapshot') return this.#addSnapshot(fact, place, open);
    const known = factStep(fact);
    if (known === undefined) return;
    const step: Step = { ...place, attempt, ...known };
    if ('toolCallId' in fact && fact.toolCallId !== undefined) {
      if (fact.type === 'approval_asked' && fact.from !== undefined)
        this.#questions.set(fact.toolCallId, fact.from.toolCallId);
      this.#callSteps(fact.toolCallId).push(step);
    } else this.steps.push(step);
  }

  #addSnapshot(
    { items }: Extract<Fact, { type: 'snapshot' }>,
    place: RecordPlace,
    open: (id: ItemId) => OpenItem | undefined,
  ): void {
    this.isSettled = true;
    for (const { itemId, parts } of items) {
      const { item } = this.#item(itemId, place, open);
      for (const { partId, part } of parts) {
        const { attempt }: Attempt = attemptOf(partId);
        this.#addPart(partId, wholeContent(part, itemId, attempt, place), item);
      }
    }
  }

  #callSteps(id: ToolCallId): Step[] {
    const call = this.#questions.get(id) ?? id;
    const known = this.calls.get(call);
    if (known !== undefined) return known;
    const steps: Step[] = [];
    this.calls.set(call, steps);
    return steps;
  }
}

type Compared = Pick<Step, 'cause' | 'value'>;

/** Returns the compared fields of a fact. Returns undefined for facts that are not compared. */
function factStep(fact: Fact): Compared | undefined {
  switch (fact.type) {
    case 'turn_started':
    case 'tool_execution_started':
      return { cause: 'setting', value: {} };
    case 'run_finished':
    case 'turn_finished':
      return { cause: 'setting', value: { stop: stopValue(fact.stop) } };
    case 'response_started': {
      const { provider, model, tools } = fact;
      return { cause: 'setting', value: { provider, model, ...(tools && { tools }) } };
    }
    case 'response_finished':
      return { cause: 'answer', value: { stop: stopValue(fact.stop) } };
    case 'attempt_superseded':
      return { cause: 'answer', value: { reason: fact.reason } };
    // The delay and the message of an error are not compared. Delays are random, and messages contain ids.
    case 'retry_scheduled':
    case 'error_reported':
      return { cause: 'answer', value: { error: fact.error.code } };
    case 'aborted':
      return { cause: 'command', value: given({ reason: fact.reason }) };
    case 'compacted': {
      const { itemIds, summary, clipped } = fact;
      const lengths = clipped?.map(({ maxLength }) => maxLength);
      return { cause: 'request', value: given({ items: itemIds.length, summary, lengths }) };
    }
    case 'handed_off':
      return { cause: 'setting', value: { to: fact.to } };
    // A changed input or result of a branch has a record of its own, which is compared there. The model and
    // the instructions are only in this fact.
    case 'branched': {
      const { model, instructions } = fact;
      if (model === undefined && instructions === undefined) return undefined;
      return { cause: 'setting', value: given({ model, instructions }) };
    }
    case 'guardrail_applied': {
      const { name, on, verdict, reason, input } = fact;
      return { cause: 'setting', value: given({ name, on, verdict, reason, input }) };
    }
    default:
      return callStep(fact);
  }
}

function callStep(fact: Fact): Compared | undefined {
  switch (fact.type) {
    case 'tool_call_rejected':
      return { cause: 'setting', value: { code: fact.code, message: fact.message } };
    case 'approval_asked': {
      const { reason, rule, from } = fact;
      const asked = from && { agents: from.agents, input: from.input };
      return { cause: 'setting', value: given({ reason, rule, from: asked }) };
    }
    case 'approval_answered': {
      const { decision, reason, input, until } = fact;
      const lasts = typeof until === 'number' ? 'time' : until;
      return { cause: 'command', value: given({ decision, reason, input, until: lasts }) };
    }
    case 'tool_output_asked':
      return { cause: 'setting', value: given({ input: fact.input }) };
    case 'tool_execution_finished':
      return { cause: 'tool_result', value: { isError: fact.isError, outcome: fact.outcome } };
    case 'file_changed': {
      const { before, after, scope } = fact;
      const value = given({ before: before?.hash, after: after?.hash, scope });
      return { cause: 'tool_result', value };
    }
    default:
      return undefined;
  }
}

function stopValue({ reason, cause }: { readonly reason: string; readonly cause?: string }) {
  return given({ reason, cause });
}

/** Returns the compared fields of a command: without ids, names and traces. */
function commandValue(command: JsonObject): JsonObject {
  const { type, items, when, reason, rule, input, output, error, until } = command;
  const texts = Array.isArray(items) ? items.map(itemValue) : undefined;
  const lasts = typeof until === 'number' ? 'time' : until;
  const rest = { when, reason, rule, input, output, error, until: lasts };
  return given({ type, items: texts, ...rest });
}

function itemValue(item: JsonValue): JsonValue {
  const { kind = null, parts } = (item ?? {}) as JsonObject;
  const texts = Array.isArray(parts)
    ? parts.map((part) => {
        const { metadata: _, providerState: __, ...rest } = (part ?? {}) as JsonObject;
        return rest;
      })
    : [];
  return { kind, parts: texts };
}

/** Returns the fields that are not undefined. */
function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}
