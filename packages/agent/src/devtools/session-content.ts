import type { Part, ToolCallPart, ToolResultPart } from '@millrace/core';
import type { RequestWork, ToolWork, TracedItem } from './contract.ts';
import type { PlannedRequest, SpanOf } from './plan-runs.ts';

// The input of each request repeats the history of its run. The classes of this file find what is new in it, and which
// execution and which result belong to a call.

/** The executions that belong to no call yet. */
export class UnusedTools {
  readonly #all: Set<SpanOf<ToolWork>>;
  /** The executions by the id of their call, and those without an id by their name. */
  readonly #byKey: ReadonlyMap<string, SpanOf<ToolWork>[]>;

  constructor(tools: readonly SpanOf<ToolWork>[]) {
    this.#all = new Set(tools);
    this.#byKey = Map.groupBy(tools, ({ work }) =>
      work.callId === undefined ? `name ${work.name}` : `id ${work.callId}`,
    );
  }

  get rest(): Iterable<SpanOf<ToolWork>> {
    return this.#all;
  }

  /** Returns the execution of a call: by its id, or else by its name, after the start of the request. */
  take(call: ToolCallPart, afterMs: number): SpanOf<ToolWork> | undefined {
    const found =
      this.#byKey.get(`id ${call.toolCallId}`)?.shift() ?? this.#takeNamed(call, afterMs);
    if (found !== undefined) this.#all.delete(found);
    return found;
  }

  #takeNamed(call: ToolCallPart, afterMs: number): SpanOf<ToolWork> | undefined {
    const named = this.#byKey.get(`name ${call.name}`) ?? [];
    // The executions are in the order of time. An execution that started before this request can belong neither
    // to this call nor to a later one.
    while (named[0] !== undefined && named[0].startMs < afterMs) named.shift();
    // Parallel calls of one tool can start at the same time, but mostly have different arguments.
    const near = named.slice(0, maxParallel);
    const same = near.findIndex(({ work }) => work.input === call.arguments);
    return named.splice(Math.max(0, same), 1)[0];
  }
}

/** Maximum number of executions of one tool whose arguments are compared with a call. */
const maxParallel = 64;

/** The results of calls that requests sent to their model. */
export class SeenResults {
  readonly #seen = new Map<string, { readonly index: number; readonly part: ToolResultPart }[]>();
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(requests: readonly PlannedRequest[]) {
    this.#indexes = new Map(requests.map(({ span }, index) => [span.id, index]));
    for (const [index, { span }] of requests.entries())
      for (const { parts } of span.work.input)
        for (const part of parts) if (part.kind === 'tool_result') this.#note(index, part);
  }

  /** Returns the result of a call that the first request after this one has. */
  after({ id }: SpanOf<RequestWork>, call: ToolCallPart): ToolResultPart | undefined {
    const own = this.#indexes.get(id) ?? 0;
    return this.#seen.get(call.toolCallId)?.find(({ index }) => index > own)?.part;
  }

  #note(index: number, part: ToolResultPart): void {
    const known = this.#seen.get(part.toolCallId) ?? [];
    // Later requests repeat the results of the history.
    if (known.at(-1)?.part.text === part.text) return;
    known.push({ index, part });
    this.#seen.set(part.toolCallId, known);
  }
}

/** Counts the parts that a session has, so that the history in later requests is not written again. */
export class KnownContent {
  readonly #known = new PartCounts();

  add(kind: TracedItem['kind'], part: Part): void {
    this.#known.add(kind, part);
  }

  /** Returns the items that have new parts, with only these parts. Also adds these parts to the known content. */
  newIn(input: readonly TracedItem[]): readonly TracedItem[] {
    const seen = new PartCounts();
    const items = input.flatMap(({ kind, parts }) => {
      const fresh = parts.filter((part) => seen.add(kind, part) > this.#known.count(kind, part));
      return fresh.length === 0 ? [] : [{ kind, parts: fresh }];
    });
    for (const { kind, parts } of items) for (const part of parts) this.add(kind, part);
    return items;
  }
}

/** Counts equal parts. */
class PartCounts {
  /** The counts by the kind of the part, then by its content. A text is a key as it is, without a copy. */
  readonly #counts = new Map<string, Map<string, number>>();

  count(kind: TracedItem['kind'], part: Part): number {
    const [group, key] = keyOf(kind, part);
    return this.#counts.get(group)?.get(key) ?? 0;
  }

  /** Returns the new count. */
  add(kind: TracedItem['kind'], part: Part): number {
    const [group, key] = keyOf(kind, part);
    const counts = this.#counts.get(group) ?? new Map<string, number>();
    const count = (counts.get(key) ?? 0) + 1;
    this.#counts.set(group, counts.set(key, count));
    return count;
  }
}

function keyOf(kind: TracedItem['kind'], part: Part): readonly [group: string, key: string] {
  switch (part.kind) {
    case 'text':
      return [`${kind} text`, part.text];
    case 'reasoning':
      return ['reasoning', part.text];
    case 'tool_call':
    case 'tool_result':
      return [part.kind, part.toolCallId];
    case 'media':
    case 'file': {
      const { mimeType, source } = part;
      const about = source.type === 'bytes' ? source.bytes.length : JSON.stringify(source);
      return [`${kind} ${part.kind}`, `${mimeType} ${about}`];
    }
    case 'structured':
    case 'custom':
      return [`${kind} ${part.kind}`, JSON.stringify(part.value)];
  }
}
