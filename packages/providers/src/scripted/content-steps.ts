import {
  type BytesWriter,
  type Delta,
  type DeltaWriter,
  type Ids,
  type Part,
  type TextWriter,
  toolCallId,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { StreamItem } from '../contract/provider.ts';
import { moveDelta } from '../provider/wrap-provider.ts';
import { TextBlock } from '../wire/text-block.ts';
import {
  piecesOf,
  type ScriptedContent,
  type ScriptedPart,
  type ScriptedPieces,
  type ScriptedToolCall,
} from './script.ts';

interface ContentOptions {
  readonly pieces: ScriptedPieces;
  /** The request. If it has an output schema, the texts are JSON. */
  readonly request: ModelRequest;
  /** Creates ids for calls that have no id. */
  readonly ids: Ids;
}

/** Writes the content to the writer. Each yield ends one step of the stream. */
export function* contentSteps(
  content: ScriptedContent,
  writer: DeltaWriter,
  item: StreamItem,
  options: ContentOptions,
): Generator<readonly Delta[]> {
  if ('deltas' in content) {
    for (const delta of content.deltas) yield [moveDelta(delta, item)];
    return;
  }
  const steps =
    'write' in content ? content.write(writer) : partSteps(content.parts, writer, options);
  for (const _ of steps) yield writer.take();
}

function* partSteps(
  parts: readonly ScriptedPart[],
  writer: DeltaWriter,
  { pieces, request, ids }: ContentOptions,
): Generator<void> {
  for (const part of parts) {
    if (typeof part !== 'string') {
      yield* part.kind === 'tool_call'
        ? streamCall(part, writer, { pieces, ids })
        : streamPart(part, writer, pieces);
    } else {
      const block = new TextBlock(writer, request);
      for (const piece of piecesOf(part, pieces)) {
        block.append(piece);
        yield;
      }
      block.commit();
      yield;
    }
  }
}

/** Starts the part, streams its content in pieces, and commits it. */
function* streamPart(
  part: Exclude<Part, { readonly kind: 'tool_call' }>,
  writer: DeltaWriter,
  pieces: ScriptedPieces,
): Generator<void> {
  switch (part.kind) {
    case 'text': {
      yield* streamText(writer.text({ mimeType: part.mimeType }), part.text, part, pieces);
      return;
    }
    case 'reasoning': {
      yield* streamText(writer.reasoning(part.form), part.text, part, pieces);
      return;
    }
    case 'media': {
      if (part.source.type === 'bytes') {
        yield* streamBytes(writer.media(part.mimeType), part.source.bytes, part);
        return;
      }
      writer.whole(part);
      yield;
      return;
    }
    default:
      writer.whole(part);
      yield;
  }
}

function* streamCall(
  part: ScriptedToolCall,
  writer: DeltaWriter,
  { pieces, ids }: Omit<ContentOptions, 'request'>,
): Generator<void> {
  const { toolCallId: id } = part;
  const call = writer.toolCall(id === undefined ? ids.toolCall() : toolCallId(id), part.name);
  // The start of a call is a separate step, as with real providers.
  yield;
  yield* streamText(call, part.arguments, part, pieces);
}

function* streamText(
  open: TextWriter,
  text: string,
  part: Part | ScriptedToolCall,
  pieces: ScriptedPieces,
): Generator<void> {
  for (const piece of piecesOf(text, pieces)) {
    open.append(piece);
    yield;
  }
  commitPart(open, part);
  yield;
}

const bytesPerPiece = 1024;

function* streamBytes(open: BytesWriter, bytes: Uint8Array, part: Part): Generator<void> {
  for (let at = 0; at < bytes.length; at += bytesPerPiece) {
    open.append(bytes.subarray(at, at + bytesPerPiece));
    yield;
  }
  commitPart(open, part);
  yield;
}

function commitPart(open: TextWriter | BytesWriter, part: Part | ScriptedToolCall): void {
  const { partial, metadata, providerState } = part;
  const signature = part.kind === 'reasoning' ? part.signature : undefined;
  if (metadata !== undefined) open.metadata(metadata);
  open.commit({ partial, providerState, ...(signature === undefined ? {} : { signature }) });
}
