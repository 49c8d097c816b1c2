import {
  type CustomPart,
  isJsonObject,
  type JsonObject,
  type ToolCallId,
  type ToolResultPart,
} from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
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
import { attachmentPart, contentPart, dataPart } from './content.ts';
import { partData } from './part-state.ts';

interface MessageOptions {
  readonly info: ModelInfo;
  /** If false, a call is sent with an id only if the provider created that id. */
  readonly sendsAllIds: boolean;
}

type GeminiMessage = { readonly role: 'user' | 'model'; readonly parts: readonly JsonObject[] };

/**
 * A user message that is inserted if the conversation starts with a model message. Without it, the API
 * rejects the conversation.
 */
const emptyUserMessage: GeminiMessage = { role: 'user', parts: [{ text: '(no message)' }] };

/**
 * Returns the fields `contents` and `systemInstruction`. Instructions after the start of the conversation
 * keep their position and become user messages.
 */
export function messageFields(messages: readonly Message[], options: MessageOptions): JsonObject {
  const firstIndex = messages.findIndex((message) => !isInstruction(message));
  const conversation = firstIndex < 0 ? [] : messages.slice(firstIndex);
  const instructions = messages
    .slice(0, messages.length - conversation.length)
    .filter(isInstruction);
  const contents = mergeNeighbours(toGeminiMessages(conversation, options));
  if (contents[0] === undefined) {
    throw fault('invalid_request', 'there is no message to answer; add a user item');
  }
  const { inputs } = options.info;
  const parts = instructions.flatMap((message) =>
    message.parts.map((part) => contentPart(part, inputs)),
  );
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
  const { inputs, signedCalls = false, mediaInResults = false } = options.info;
  const ids = sentIds(messages, options);
  const idOf = (call: ToolCallId) => ids.get(call);
  return messages.map((message): GeminiMessage => {
    switch (message.role) {
      case 'assistant':
        return {
          role: 'model',
          parts: modelParts(message, { wantsSignatures: signedCalls, idOf }),
        };
      case 'tool':
        return {
          role: 'user',
          parts: functionResponses(message, { takesNestedMedia: mediaInResults, inputs, idOf }),
        };
      default:
        return { role: 'user', parts: message.parts.map((part) => contentPart(part, inputs)) };
    }
  });
}

/** Returns, for each call, the id with which the call and its result are sent. */
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

/** Merges consecutive messages of the same role. */
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
  /** True if the model rejects calls without a signature. */
  readonly wantsSignatures: boolean;
  /** Returns the id with which a call is sent, or undefined if the call is sent without an id. */
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/**
 * The kinds of hosted tool parts that the API must get back. Other kinds are not sent, because the API can
 * reject them.
 */
const returnedKinds: ReadonlySet<string> = new Set([
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]);

/** The value that Google documents for calls that a different model made and that have no signature. */
const unsignedCallMarker = 'skip_thought_signature_validator';

/** Converts the parts of an assistant message to the form in which the model sent them. */
function modelParts(
  { parts }: AssistantMessage,
  options: ModelPartsOptions,
): readonly JsonObject[] {
  // If there are several parallel calls, only the first call has a signature.
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
      // A part with a signature is sent back unchanged.
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
  if (!isJsonObject(value) || !returnedKinds.has(name)) return [];
  const isSigned = partData(part).thoughtSignature !== undefined;
  return [isSigned ? value : wellFormedValue(value)];
}

function functionCall(call: SentToolCall, { idOf }: ModelPartsOptions): JsonObject {
  const id = idOf(call.toolCallId);
  return { name: call.name, args: call.input, ...(id === undefined ? {} : { id }) };
}

interface FunctionResponsesOptions {
  /** True if results can contain media. Otherwise the media are sent after the result. */
  readonly takesNestedMedia: boolean;
  readonly inputs: ModelInfo['inputs'];
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/**
 * Converts the results of the previous calls. An attachment that a result cannot contain is sent after the
 * result.
 */
function functionResponses(
  { results }: ToolMessage,
  options: FunctionResponsesOptions,
): readonly JsonObject[] {
  const isNested = (part: Attachment) => options.takesNestedMedia && canNest(part);
  const following = results.flatMap(({ attachments = [] }) =>
    attachments
      .filter((part) => !isNested(part))
      .map((part) => attachmentPart(part, options.inputs)),
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

/**
 * Returns whether a result can contain the attachment. The attachment must be bytes of one of a few types.
 */
function canNest({ mimeType, source }: Attachment): boolean {
  return source.type === 'bytes' && source.bytes.length > 0 && nestedTypes.has(mimeType);
}
