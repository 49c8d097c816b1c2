import type { BeginPart, PartEnd } from '../protocol/delta.ts';
import type { Item } from '../protocol/item.ts';
import type { Part } from '../protocol/part.ts';
import type { LogRecord } from '../protocol/record.ts';

// A second, minimal implementation of the fold, which shares no code with the real one. It does not
// share state, check positions or read batches. It reads a whole log without gaps or merged records
// and returns the transcript.

interface RefPart {
  readonly id: string;
  begin?: BeginPart;
  chunks: (string | Uint8Array)[];
  value?: unknown;
  metadata?: unknown;
  done?: Part;
}

interface RefItem {
  readonly id: string;
  readonly attempt: string;
  readonly item: Record<string, unknown>;
  finishedBy?: string;
  parts: RefPart[];
}

export function referenceTranscript(records: readonly LogRecord[]): readonly Item[] {
  let items: RefItem[] = [];
  const everyPart = () => items.flatMap((item) => item.parts);
  const partOf = (id: string) => everyPart().find((part) => part.id === id);
  for (const { delta, fact, turn, attempt } of records) {
    const tried = `${turn}.${attempt}`;
    if (fact?.type === 'item_started') {
      const { type: _type, itemId: id, ...item } = fact;
      items.push({ id, attempt: tried, item: { id, ...item }, parts: [] });
    }
    if (fact?.type === 'item_finished' || fact?.type === 'response_finished') {
      const item = items.find(({ id }) => id === fact.itemId);
      if (item) item.finishedBy = tried;
      if (item && fact.stop) item.item['stop'] = fact.stop;
    }
    if (fact?.type === 'item_redacted') {
      const item = items.find(({ id }) => id === fact.itemId);
      if (item) item.parts = [];
      if (item) item.item['redacted'] = true;
    }
    if (fact?.type === 'attempt_superseded') {
      items = items.filter((item) => item.attempt !== tried);
      for (const item of items) {
        item.parts = item.parts.filter((part) => !part.id.startsWith(`${tried}.`));
        if (item.finishedBy === tried) delete item.item['stop'];
      }
    }
    if (delta === undefined || delta.type === 'unknown') continue;
    const part = partOf(delta.partId);
    if (delta.type === 'begin_part') {
      const item = items.find(({ id }) => id === delta.itemId);
      item?.parts.push({ id: delta.partId, begin: delta, chunks: [] });
    }
    if (delta.type === 'append_text' || delta.type === 'append_bytes')
      part?.chunks.push(delta.chunk);
    if (delta.type === 'replace_structured' && part) part.value = delta.value;
    if (delta.type === 'set_metadata' && part) part.metadata = delta.metadata;
    if (delta.type === 'commit_part' && delta.part === undefined && part) {
      part.done = finished(part, delta);
    }
    if (delta.type === 'commit_part' && delta.part !== undefined) {
      if (part) part.done = delta.part;
      const item = items.find(({ id }) => id === delta.itemId);
      if (!part) item?.parts.push({ id: delta.partId, chunks: [], done: delta.part });
    }
    if (delta.type === 'retract_part') {
      for (const item of items) item.parts = item.parts.filter(({ id }) => id !== delta.partId);
    }
  }
  return items.map(({ item, parts }) => {
    const done = parts.flatMap((part) => part.done ?? []);
    return { ...item, parts: done } as unknown as Item;
  });
}

function finished({ begin, chunks, value, metadata }: RefPart, end: PartEnd): Part {
  if (begin === undefined) throw new Error('a part was committed by length without a begin');
  const { type: _type, partId: _partId, itemId: _itemId, ...start } = begin;
  const text = chunks.filter((chunk) => typeof chunk === 'string').join('');
  const bytes = chunks.flatMap((chunk) => (typeof chunk === 'string' ? [] : [...chunk]));
  const content: { readonly [kind: string]: object } = {
    text: { text },
    reasoning: { text },
    tool_call: { arguments: text, ...inputOf(text, end) },
    tool_result: { text, isError: false },
    structured: { value },
    custom: { value },
    media: { source: { type: 'bytes', bytes: Uint8Array.from(bytes) } },
    file: { source: { type: 'bytes', bytes: Uint8Array.from(bytes) } },
  };
  const common = {
    ...(end.partial && { partial: true }),
    ...(end.providerState && { providerState: end.providerState }),
    ...(end.signature !== undefined && { signature: end.signature }),
    ...(metadata !== undefined && { metadata }),
  };
  return { ...start, ...content[begin.kind], ...common } as Part;
}

function inputOf(text: string, end: PartEnd): object {
  if (end.partial) return {};
  try {
    return { input: JSON.parse(text || '{}') };
  } catch {
    return {};
  }
}
