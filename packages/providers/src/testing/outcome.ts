import { alternativeName, type Part, toBase64 } from '@millrace/core';
import type { Completion } from '../contract/provider.ts';
import type { BlockKind, Expected } from './oracle/expected.ts';

/** The actual result in the format of `Expected`. */
type Outcome = Pick<
  Expected,
  'texts' | 'reasoning' | 'refusal' | 'transcript' | 'order' | 'stop' | 'rawStop' | 'usage'
> & {
  readonly calls: readonly {
    readonly name: string;
    readonly arguments: string;
    readonly id: string;
  }[];
  readonly customs: readonly string[];
  readonly media: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly citations: readonly string[];
};

export function outcomeOf({ item, stop, usage }: Completion): Outcome {
  const { parts } = item;
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  const refusal = textsOf(parts, 'refusal');
  const transcript = textsOf(parts, 'transcript');
  return {
    texts: textsOf(parts, undefined),
    reasoning: parts.map((part) => (part.kind === 'reasoning' ? part.text : '')).join(''),
    ...(refusal === '' ? {} : { refusal }),
    ...(transcript === '' ? {} : { transcript }),
    calls: parts.flatMap((part) =>
      part.kind === 'tool_call'
        ? { name: part.name, arguments: part.arguments, id: part.toolCallId }
        : [],
    ),
    order: orderOf(parts),
    // The oracle reads only the first answer. Another test reads the others.
    customs: parts.flatMap((part) =>
      part.kind === 'custom' && part.name !== 'citations' && part.name !== alternativeName
        ? part.name
        : [],
    ),
    media: parts.flatMap((part) =>
      part.kind === 'media' && part.source.type === 'bytes'
        ? { mimeType: part.mimeType, base64: toBase64(part.source.bytes) }
        : [],
    ),
    usage: usage.estimated ? undefined : { input, output, cacheRead, cacheWrite, reasoning },
    stop: stop.reason,
    rawStop: stop.raw,
    citations: [...new Set(parts.flatMap(urlsOf))],
  };
}

type Mark = 'refusal' | 'transcript';

const markOf = (part: Part): Mark | undefined =>
  part.metadata?.['refusal'] ? 'refusal' : part.metadata?.['transcript'] ? 'transcript' : undefined;

function textsOf(parts: readonly Part[], mark: Mark | undefined): string {
  return parts
    .map((part) => (part.kind === 'text' && markOf(part) === mark ? part.text : ''))
    .join('');
}

/**
 * Returns the kinds of the parts. Adjacent parts of one kind count as one, and empty parts are
 * skipped.
 */
function orderOf(parts: readonly Part[]): readonly BlockKind[] {
  const kinds = parts.flatMap((part): BlockKind | readonly BlockKind[] => {
    if (part.kind === 'tool_call') return 'call';
    if (part.kind === 'reasoning') return part.text === '' ? [] : 'reasoning';
    return part.kind === 'text' && part.text !== '' && markOf(part) === undefined ? 'text' : [];
  });
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}

function urlsOf(part: Part): readonly string[] {
  const source = part.kind === 'custom' && part.name === 'citations' ? part.value : part.metadata;
  const { citations = [] } = (source ?? {}) as { citations?: readonly { url?: string }[] };
  return citations.flatMap(({ url }) => url ?? []);
}
