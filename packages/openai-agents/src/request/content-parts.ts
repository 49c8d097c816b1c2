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
import { preservedPart } from '../response/preserved-part.ts';

type UserContent = Exclude<protocol.UserMessageItem['content'], string>[number];

/** Converts the content of a user message or a tool result to parts. */
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
      if (typeof content.image !== 'string') throw uploadedFileError('a picture');
      return { kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'input_file':
      return filePart(content);
    case 'audio':
      if (typeof content.audio !== 'string') throw uploadedFileError('a recording');
      return { kind: 'media', ...sourceOf(content.audio, `audio/${content.format ?? 'wav'}`) };
  }
}

function filePart({ file, filename = 'file' }: UserContent & { type: 'input_file' }) {
  if (file === undefined) return undefined;
  const given = typeof file === 'string' ? file : 'url' in file ? file.url : undefined;
  if (given === undefined) throw uploadedFileError('a file');
  const mimeType = /\.pdf$/i.test(filename) ? 'application/pdf' : 'application/octet-stream';
  return { kind: 'file', name: filename, ...sourceOf(given, mimeType) } as const;
}

type AssistantContent = protocol.AssistantMessageItem['content'][number];

/**
 * Converts the content of an assistant message. If the content came from Millrace, the function restores the
 * original part.
 */
export function assistantPart(content: AssistantContent): Part | undefined {
  const preserved = preservedPart(content);
  switch (content.type) {
    case 'output_text':
      if (preserved?.kind === 'structured') return structuredPart(content.text, preserved);
      return { ...preserved, kind: 'text', text: content.text };
    case 'refusal':
      return { ...preserved, kind: 'text', text: content.refusal };
    case 'image':
      return { ...preserved, kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'audio':
      // The model produced audio. The transcript is used as its text.
      return content.transcript ? { kind: 'text', text: content.transcript } : undefined;
  }
}

function structuredPart(text: string, preserved: JsonObject): Part {
  const parsed = parseJson(text);
  return parsed.ok
    ? { ...preserved, kind: 'structured', value: parsed.value }
    : { kind: 'text', text };
}

export function callPart(item: protocol.FunctionCallItem): Part {
  const { callId, name, arguments: text } = item;
  const call = {
    kind: 'tool_call',
    toolCallId: toolCallId(callId),
    name,
    arguments: text,
  } as const;
  return { ...preservedPart(item), ...call };
}

/**
 * Restores reasoning that came from Millrace. Drops reasoning of other models, because only the vendor of a
 * model can read its reasoning.
 */
export function reasoningPart(item: protocol.ReasoningItem): Part | undefined {
  const preserved = preservedPart(item);
  if (preserved?.kind === 'custom') return preserved as JsonObject as unknown as Part;
  if (preserved?.kind !== 'reasoning') return undefined;
  const texts = [...item.content, ...(item.rawContent ?? [])].map(({ text }) => text);
  return {
    ...(preserved as JsonObject as unknown as Part & { kind: 'reasoning' }),
    text: texts.join(''),
  };
}

/** Converts a tool result. Its text stays text, and other content becomes attachments. */
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

/** Converts the older forms of an output to a content list. */
function contentOf(output: Output): readonly Content[] {
  if (Array.isArray(output)) return output;
  switch (output.type) {
    case 'text':
      return [{ type: 'input_text', text: output.text }];
    case 'image':
      return output.image === undefined
        ? []
        : [{ type: 'input_image', image: toAttachmentUrl(output.image) }];
    case 'file': {
      const { file } = output;
      const filename = typeof file === 'string' ? undefined : file.filename;
      return [{ type: 'input_file', file: toAttachmentUrl(file), filename }];
    }
  }
}

type AttachmentInput =
  | string
  | { readonly url: string }
  | InlineData
  | { readonly id: string }
  | { readonly fileId: string };
interface InlineData {
  readonly data: string | Uint8Array;
  readonly mediaType?: string | undefined;
}

function toAttachmentUrl(source: AttachmentInput): string {
  if (typeof source === 'string') return source;
  if ('url' in source) return source.url;
  if (!('data' in source)) throw uploadedFileError('an attachment');
  const { data, mediaType = 'application/octet-stream' } = source;
  if (typeof data === 'string' && data.startsWith('data:')) return data;
  return `data:${mediaType};base64,${typeof data === 'string' ? data : toBase64(data)}`;
}

function isAttachment(part: { readonly kind: string }): part is MediaPart | FilePart {
  return part.kind === 'media' || part.kind === 'file';
}

interface AttachmentSource {
  readonly mimeType: string;
  readonly source: Source;
}

/**
 * Reads an attachment of the SDK. The attachment is a data URL, an http URL, or base64 text of the given
 * type.
 */
function sourceOf(given: string, mimeType: string): AttachmentSource {
  const [, type, data] = /^data:([^,;]*)(?:;[^,;]*)*?;base64,(.*)$/is.exec(given) ?? [];
  if (data !== undefined) return { mimeType: type || mimeType, source: bytesOf(data) };
  if (/^(https?|data):/i.test(given)) return { mimeType, source: { type: 'url', url: given } };
  return { mimeType, source: bytesOf(given) };
}

function bytesOf(base64: string): Source {
  const bytes = fromBase64(base64);
  if (bytes !== undefined) return { type: 'bytes', bytes };
  throw new UserError(
    `Cannot send an attachment of ${base64.length} characters: it is not a data URL, an http URL or base64`,
  );
}

/** Returns the error for a file that was uploaded to OpenAI. Other providers cannot read such a file. */
function uploadedFileError(what: string): UserError {
  return new UserError(
    `Cannot send ${what} by the id of an uploaded file: pass its data or its URL`,
  );
}
