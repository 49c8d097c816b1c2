import {
  type FilePart,
  fromBase64,
  type JsonObject,
  type MediaPart,
  type Part,
  parseJson,
  type Source,
  type ToolResultPart,
  toBase64,
  toolCallId,
} from '@millrace/core';
import { type protocol, UserError } from '@openai/agents';
import { keptPart } from '../response/preserved-part.ts';

type UserContent = Exclude<protocol.UserMessageItem['content'], string>[number];

/** What somebody said, or a tool gave, as parts. */
export function userParts(content: string | readonly UserContent[]): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return content.flatMap((one) => userPart(one) ?? []);
}

function userPart(content: UserContent): Part | undefined {
  switch (content.type) {
    case 'input_text':
      return { kind: 'text', text: content.text };
    case 'input_image':
      if (content.image === undefined) return undefined;
      if (typeof content.image !== 'string') throw elsewhere('a picture');
      return { kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'input_file':
      return filePart(content);
    case 'audio':
      if (typeof content.audio !== 'string') throw elsewhere('a recording');
      return { kind: 'media', ...sourceOf(content.audio, `audio/${content.format ?? 'wav'}`) };
  }
}

function filePart({ file, filename = 'file' }: UserContent & { type: 'input_file' }) {
  if (file === undefined) return undefined;
  const given = typeof file === 'string' ? file : 'url' in file ? file.url : undefined;
  if (given === undefined) throw elsewhere('a file');
  const mimeType = /\.pdf$/i.test(filename) ? 'application/pdf' : 'application/octet-stream';
  return { kind: 'file', name: filename, ...sourceOf(given, mimeType) } as const;
}

type AssistantContent = protocol.AssistantMessageItem['content'][number];

/** What the model said, as the part that it was where it came from us. */
export function saidPart(content: AssistantContent): Part | undefined {
  const kept = keptPart(content);
  switch (content.type) {
    case 'output_text':
      if (kept?.kind === 'structured') return structuredPart(content.text, kept);
      return { ...kept, kind: 'text', text: content.text };
    case 'refusal':
      return { ...kept, kind: 'text', text: content.refusal };
    case 'image':
      return { ...kept, kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'audio':
      // The model's own voice: what it said is in the transcript.
      return content.transcript ? { kind: 'text', text: content.transcript } : undefined;
  }
}

function structuredPart(text: string, kept: JsonObject): Part {
  const parsed = parseJson(text);
  return parsed.ok ? { ...kept, kind: 'structured', value: parsed.value } : { kind: 'text', text };
}

export function callPart(item: protocol.FunctionCallItem): Part {
  const { callId, name, arguments: text } = item;
  const said = {
    kind: 'tool_call',
    toolCallId: toolCallId(callId),
    name,
    arguments: text,
  } as const;
  return { ...keptPart(item), ...said };
}

/** Reasoning of another model, and what else only its maker can read, is nothing to ours. */
export function privatePart(item: protocol.ReasoningItem): Part | undefined {
  const kept = keptPart(item);
  if (kept?.kind === 'custom') return kept as JsonObject as unknown as Part;
  if (kept?.kind !== 'reasoning') return undefined;
  const texts = [...item.content, ...(item.rawContent ?? [])].map(({ text }) => text);
  return {
    ...(kept as JsonObject as unknown as Part & { kind: 'reasoning' }),
    text: texts.join(''),
  };
}

/** What a tool gave: its words, and what else it gave as attachments. */
export function resultPart(item: protocol.FunctionCallResultItem): ToolResultPart {
  const { callId, name, output, status } = item;
  const parts = userParts(typeof output === 'string' ? output : contentOf(output));
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const attachments = parts.filter(isAttachment);
  return {
    ...{ kind: 'tool_result', toolCallId: toolCallId(callId), name, text },
    isError: status === 'incomplete',
    ...(attachments.length > 0 && { attachments }),
  };
}

type Output = Exclude<protocol.FunctionCallResultItem['output'], string>;
type Content = Extract<Output, readonly unknown[]>[number];

/** The older forms of an output say the same in other words. */
function contentOf(output: Output): readonly Content[] {
  if (Array.isArray(output)) return output;
  switch (output.type) {
    case 'text':
      return [{ type: 'input_text', text: output.text }];
    case 'image':
      return output.image === undefined
        ? []
        : [{ type: 'input_image', image: given(output.image) }];
    case 'file': {
      const { file } = output;
      const filename = typeof file === 'string' ? undefined : file.filename;
      return [{ type: 'input_file', file: given(file), filename }];
    }
  }
}

type Given =
  | string
  | { readonly url: string }
  | Inline
  | { readonly id: string }
  | { readonly fileId: string };
interface Inline {
  readonly data: string | Uint8Array;
  readonly mediaType?: string | undefined;
}

function given(source: Given): string {
  if (typeof source === 'string') return source;
  if ('url' in source) return source.url;
  if (!('data' in source)) throw elsewhere('an attachment');
  const { data, mediaType = 'application/octet-stream' } = source;
  if (typeof data === 'string' && data.startsWith('data:')) return data;
  return `data:${mediaType};base64,${typeof data === 'string' ? data : toBase64(data)}`;
}

function isAttachment(part: { readonly kind: string }): part is MediaPart | FilePart {
  return part.kind === 'media' || part.kind === 'file';
}

interface Attached {
  readonly mimeType: string;
  readonly source: Source;
}

/** What the SDK writes as a text: a data URL, an address, or bare base64 of the type that is expected. */
function sourceOf(given: string, mimeType: string): Attached {
  const [, type, data] = /^data:([^,;]*)[^,]*;base64,(.*)$/is.exec(given) ?? [];
  if (data !== undefined) return { mimeType: type || mimeType, source: bytesOf(data) };
  if (/^(https?|data):/i.test(given)) return { mimeType, source: { type: 'url', url: given } };
  return { mimeType, source: bytesOf(given) };
}

function bytesOf(base64: string): Source {
  const bytes = fromBase64(base64);
  if (bytes !== undefined) return { type: 'bytes', bytes };
  throw new UserError(
    `Cannot send an attachment of ${base64.length} characters: it is no data URL, no http address and no base64`,
  );
}

/** Files that were uploaded to OpenAI are there, and nowhere else. */
function elsewhere(what: string): UserError {
  return new UserError(
    `Cannot send ${what} that is named by the id of an uploaded file: give its data or its address`,
  );
}
