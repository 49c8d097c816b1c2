import type { CustomPart, JsonObject, ToolCallId, ToolResultPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Attachment } from '../history/attachment.ts';
import type {
  AssistantMessage,
  AssistantPart,
  InputMessage,
  Message,
  SentToolCall,
  ToolMessage,
} from '../history/message.ts';
import { wellFormedValue } from '../history/sendable-parts.ts';
import { isObject } from '../json/fields.ts';
import { attachmentPart, contentPart, dataPart } from './content.ts';
import { generationOf } from './options.ts';
import { partData } from './part-state.ts';

interface MessageOptions {
  readonly model: string;
  /** Else a call's id is sent only where the provider gave it. */
  readonly sendsAllIds: boolean;
}

type GeminiMessage = { readonly role: 'user' | 'model'; readonly parts: readonly JsonObject[] };

/** Stands for the user where the model would have spoken first, which is refused. */
const emptyUserMessage: GeminiMessage = { role: 'user', parts: [{ text: '(no message)' }] };

/** `contents` and `systemInstruction`. Instructions that come later stay in their place, as the user's. */
export function messageFields(messages: readonly Message[], options: MessageOptions): JsonObject {
  const firstIndex = messages.findIndex((message) => !isInstruction(message));
  const conversation = firstIndex < 0 ? [] : messages.slice(firstIndex);
  const instructions = messages
    .slice(0, messages.length - conversation.length)
    .filter(isInstruction);
  const contents = mergeNeighbours(toGeminiMessages(conversation, options));
  if (contents[0] === undefined) {
    throw fault('invalid_request', 'there is nothing to answer; add an item of the user');
  }
  const parts = instructions.flatMap((message) => message.parts.map(contentPart));
  return {
    ...(parts.length === 0 ? {} : { systemInstruction: { parts } }),
    contents: contents[0].role === 'model' ? [emptyUserMessage, ...contents] : contents,
  };
}

function isInstruction(message: Message): message is InputMessage {
  return message.role === 'system' || message.role === 'developer';
}

function toGeminiMessages(
  messages: readonly Message[],
  options: MessageOptions,
): readonly GeminiMessage[] {
  // From the third on calls must be signed, and results can hold pictures.
  const isThird = generationOf(options.model) >= 3;
  const ids = sentIds(messages, options);
  const idOf = (call: ToolCallId) => ids.get(call);
  return messages.map((message): GeminiMessage => {
    switch (message.role) {
      case 'assistant':
        return { role: 'model', parts: modelParts(message, { wantsSignatures: isThird, idOf }) };
      case 'tool':
        return {
          role: 'user',
          parts: functionResponses(message, { takesNestedMedia: isThird, idOf }),
        };
      default:
        return { role: 'user', parts: message.parts.map(contentPart) };
    }
  });
}

/** The ids that calls, and their results, are sent with. */
function sentIds(
  messages: readonly Message[],
  { sendsAllIds }: MessageOptions,
): ReadonlyMap<ToolCallId, string> {
  const calls = messages
    .flatMap((message) => (message.role === 'assistant' ? message.parts : []))
    .filter((part) => part.kind === 'tool_call');
  return new Map(
    calls.flatMap((call) => {
      const id = sendsAllIds ? call.toolCallId : partData(call).id;
      return id === undefined ? [] : [[call.toolCallId, id]];
    }),
  );
}

/** Neighbours of one role as one. */
function mergeNeighbours(contents: readonly GeminiMessage[]): readonly GeminiMessage[] {
  const merged: GeminiMessage[] = [];
  for (const content of contents) {
    const last = merged.at(-1);
    if (content.parts.length === 0) continue;
    if (last?.role !== content.role) merged.push(content);
    else merged[merged.length - 1] = { ...last, parts: [...last.parts, ...content.parts] };
  }
  return merged;
}

interface ModelPartsOptions {
  /** Does the model refuse calls that nobody signed? */
  readonly wantsSignatures: boolean;
  /** The id that a call is sent with; undefined for none. */
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/** What it wants back of its own tools. A kind that nobody knows might be refused. */
const returnedKinds: ReadonlySet<string> = new Set([
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]);

/** Google's own word for a call of another model's, which cannot have a signature. */
const unsignedCallMarker = 'skip_thought_signature_validator';

/** What the model said, each part as it came. */
function modelParts(
  { parts }: AssistantMessage,
  options: ModelPartsOptions,
): readonly JsonObject[] {
  // Of calls side by side only the first is signed.
  const first = options.wantsSignatures && parts.find(({ kind }) => kind === 'tool_call');
  return parts.flatMap((part) => {
    const sent = modelPart(part, options);
    return part === first
      ? sent.map((call) => ({ thoughtSignature: unsignedCallMarker, ...call }))
      : sent;
  });
}

function modelPart(part: AssistantPart, options: ModelPartsOptions): readonly JsonObject[] {
  const { thoughtSignature, thought, parts } = partData(part);
  if (parts !== undefined) return parts;
  const kept = {
    ...(thought === undefined ? {} : { thought }),
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  };
  switch (part.kind) {
    case 'reasoning':
      return [{ text: part.text, thought: true, ...kept }];
    case 'tool_call':
      return [{ functionCall: functionCall(part, options), ...kept }];
    case 'custom':
      return hostedPart(part);
    case 'media':
    case 'file':
      // What it signed goes back as it came.
      return [
        thoughtSignature === undefined
          ? { ...attachmentPart(part), ...kept }
          : { ...dataPart(part), ...kept },
      ];
    default:
      return [{ ...contentPart(part), ...kept }];
  }
}

function hostedPart(part: CustomPart): readonly JsonObject[] {
  const { name, value } = part;
  if (!isObject(value) || !returnedKinds.has(name)) return [];
  const isSigned = partData(part).thoughtSignature !== undefined;
  return [isSigned ? value : wellFormedValue(value)];
}

function functionCall(call: SentToolCall, { idOf }: ModelPartsOptions): JsonObject {
  const id = idOf(call.toolCallId);
  return { name: call.name, args: call.input, ...(id === undefined ? {} : { id }) };
}

interface FunctionResponsesOptions {
  /** May pictures and documents be inside of a result? Else they follow it. */
  readonly takesNestedMedia: boolean;
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/** The results of the calls before, then what could not be put inside of them. */
function functionResponses(
  { results }: ToolMessage,
  options: FunctionResponsesOptions,
): readonly JsonObject[] {
  const isNested = (part: Attachment) => options.takesNestedMedia && canNest(part);
  const following = results.flatMap(({ attachments = [] }) =>
    attachments.filter((part) => !isNested(part)).map(attachmentPart),
  );
  const responses = results.map((result) => {
    const parts = (result.attachments ?? []).filter(isNested).map(dataPart);
    const id = options.idOf(result.toolCallId);
    return {
      functionResponse: {
        name: result.name,
        response: responseOf(result),
        ...(id === undefined ? {} : { id }),
        ...(parts.length === 0 ? {} : { parts }),
      },
    };
  });
  return [...responses, ...following];
}

function responseOf({ text, isError }: ToolResultPart): JsonObject {
  return isError ? { error: text } : { output: text };
}

const nestedTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'application/pdf',
  'text/plain',
]);

/** Only bytes of a few types are taken there. */
function canNest({ mimeType, source }: Attachment): boolean {
  return source.type === 'bytes' && source.bytes.length > 0 && nestedTypes.has(mimeType);
}
