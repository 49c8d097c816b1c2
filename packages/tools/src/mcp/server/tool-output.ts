import type { ToolOutput } from '@millrace/agent';
import { checkJson, type FilePart, type JsonValue, type MediaPart } from '@millrace/core';
import { z } from 'zod';
import { clip } from '../transport/error-text.ts';
import { maxListed } from '../transport/message-gate.ts';

const maxTextLength = 4 * 2 ** 20;
const valueLimits = { maxDepth: 64, maxTextLength: 2 ** 20 };

/**
 * Converts an MCP result to a tool output. The texts keep their order. Images and files become attachments.
 */
export function toolOutput(result: CallResult, maxAttachmentBytes: number): ToolOutput {
  const reader = new ContentReader(maxAttachmentBytes);
  const lines = result.content.slice(0, maxListed).map((block) => reader.read(block));
  if (result.content.length > maxListed)
    lines.push(`[further parts left out: a result can have ${maxListed} parts]`);
  const { value, texts } = readValue(result.structuredContent, lines.length === 0);
  const text = clip([...lines, ...texts].join('\n'), maxTextLength);
  const isError = result.isError === true;
  return {
    output: {
      text: text === '' && isError ? 'The tool failed without a message.' : text,
      ...(value === undefined ? {} : { value }),
      ...(reader.attachments.length === 0 ? {} : { attachments: reader.attachments }),
      isError,
    },
  };
}

/** Returns the structured value. If the result has no text, it also returns the JSON of the value as text. */
function readValue(
  given: unknown,
  isAlone: boolean,
): { readonly value?: JsonValue; readonly texts: readonly string[] } {
  if (given === undefined) return { texts: [] };
  const problem = checkJson(given, valueLimits);
  if (problem !== undefined) return { texts: [`[structured result left out: ${problem.why}]`] };
  return { value: given as JsonValue, texts: isAlone ? [JSON.stringify(given)] : [] };
}

const maxAttachments = 32;
const maxNameLength = 200;

/**
 * Reads the content blocks of a result. Each block becomes text for the model, and some also become
 * an attachment.
 */
class ContentReader {
  readonly attachments: (MediaPart | FilePart)[] = [];
  #bytesLeft: number;

  constructor(maxBytes: number) {
    this.#bytesLeft = maxBytes;
  }

  /** Returns the text for the model. It never throws. For unreadable content, it returns a description. */
  read(block: ContentBlock): string {
    switch (block.type) {
      case 'text':
        return typeof block['text'] === 'string' ? block['text'] : unreadable(block.type);
      case 'image':
      case 'audio':
        return this.#attach(block['data'], block['mimeType'], block.type);
      case 'resource':
        return this.#readResource(block['resource']);
      case 'resource_link':
        return linkText(block);
      default:
        return `[content of kind ${clip(JSON.stringify(block.type), maxNameLength)} left out: this kind is not supported]`;
    }
  }

  #readResource(resource: unknown): string {
    if (typeof resource !== 'object' || resource === null) return unreadable('resource');
    const { uri, mimeType, text, blob } = resource as Record<string, unknown>;
    if (typeof text === 'string') return `[resource ${stringOr(uri)}]\n${text}`;
    return this.#attach(blob, mimeType, nameOf(stringOr(uri)));
  }

  #attach(data: unknown, type: unknown, name: string): string {
    const mimeType = mimeTypeOf(type);
    if (typeof data !== 'string') return unreadable(name);
    const what = `${name}, ${mimeType}`;
    // The size of the base64 data after decoding. It is computed without decoding.
    const length = Math.floor((data.length * 3) / 4);
    if (length > this.#bytesLeft)
      return `[${what}: left out, about ${length} bytes exceed the limit]`;
    if (this.attachments.length >= maxAttachments)
      return `[${what}: left out, too many attachments]`;
    const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
    this.#bytesLeft -= bytes.length;
    this.attachments.push(partOf(name, mimeType, bytes));
    return `[${what}, ${bytes.length} bytes: attached]`;
  }
}

function partOf(name: string, mimeType: string, bytes: Uint8Array): MediaPart | FilePart {
  const source = { type: 'bytes', bytes } as const;
  return /^(?:image|audio|video)\//.test(mimeType)
    ? { kind: 'media', mimeType, source }
    : { kind: 'file', name, mimeType, source };
}

function linkText({ uri, name, mimeType, description }: ContentBlock): string {
  const about = [name, mimeType, description].filter((field) => typeof field === 'string');
  return `[link to resource ${stringOr(uri)}${about.length === 0 ? '' : `: ${about.map(stringOr).join(', ')}`}]`;
}

function unreadable(what: string): string {
  return `[${what} left out: it cannot be read]`;
}

function stringOr(field: unknown): string {
  return typeof field === 'string' ? clip(field, 1_000) : '(without a name)';
}

/** Returns the last segment of a URI. If the URI has no segments, it returns the complete URI. */
function nameOf(uri: string): string {
  const last = uri
    .replace(/[?#].*$/s, '')
    .split('/')
    .findLast((step) => step !== '');
  return clip(last ?? uri, maxNameLength);
}

function mimeTypeOf(type: unknown): string {
  const isOne =
    typeof type === 'string' && /^[\w.+-]{1,60}\/[\w.+-]{1,80}$/.test(type.split(';')[0] ?? '');
  return isOne ? (type.split(';')[0] ?? '').toLowerCase() : 'application/octet-stream';
}

/**
 * The schema of a tool's result. It allows unknown content, which would otherwise make the whole result
 * invalid.
 */
const schema = z.object({
  content: z.array(z.looseObject({ type: z.string() }).catch({ type: 'unreadable' })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

type ContentBlock = { readonly type: string; readonly [field: string]: unknown };

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export const callResult: z.ZodType<CallResult> = schema;
