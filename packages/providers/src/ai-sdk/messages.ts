import type {
  LanguageModelV4CustomPart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import {
  type CustomPart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  type StructuredPart,
  type TextPart,
  type ToolResultPart,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import type { AssistantPart, ContentPart, Message } from '../history/message.ts';
import { withoutForeignReferences } from '../history/remote-state.ts';
import { toMessages } from '../history/to-messages.ts';
import { objectIn, textIn } from '../json/fields.ts';
import { attachmentPart, filePart, type SentData, urlData } from './content.ts';
import { optionsOf, type SessionOwner } from './part-state.ts';

/** Converts the items of a request to a prompt, in the newest version of the SDK's format. */
export function promptOf(request: ModelRequest, owner: SessionOwner): LanguageModelV4Prompt {
  const history = toMessages(request, { ...owner, takesFiles: false });
  const messages = withoutUnpairedCalls(withoutForeignReferences(history, owner.session));
  const firstIndex = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return messages.flatMap((message, index) => {
    const sent = messageOf(message, firstIndex >= 0 && index > firstIndex);
    if (sent.content.length === 0) return [];
    return message.isCachePoint ? { ...sent, providerOptions: cachePoint(request) } : sent;
  });
}

function messageOf(message: Message, isAfterStart: boolean): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const text = message.parts.map((part) => instruction(part, message.role)).join('');
      // Most packages reject instructions after the start of the prompt.
      return isAfterStart
        ? { role: 'user', content: [{ type: 'text', text }] }
        : { role: 'system', content: text };
    }
    case 'user':
      return { role: 'user', content: message.parts.map(userPart) };
    case 'assistant':
      return { role: 'assistant', content: message.parts.flatMap(assistantContent) };
    case 'tool':
      return { role: 'tool', content: message.results.map(resultPart) };
  }
}

function instruction(part: ContentPart, role: string): string {
  if (part.kind === 'text' || part.kind === 'structured') return textOf(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; put it into a user item`);
}

function userPart(part: ContentPart) {
  return part.kind === 'media' || part.kind === 'file'
    ? attachmentPart(part)
    : ({ type: 'text', text: textOf(part) } as const);
}

/** Returns the text of a part, or the JSON text of structured output. */
function textOf(part: TextPart | StructuredPart): string {
  return part.kind === 'text' ? part.text : JSON.stringify(part.value);
}

/**
 * Returns the provider options that mark a cache point, for all providers that need one. Each package reads
 * only the options with its own name.
 */
function cachePoint({ cache }: ModelRequest): Record<string, JsonObject> {
  const ttl = cache?.longLived ? { ttl: '1h' } : {};
  return {
    anthropic: { cacheControl: { type: 'ephemeral', ...ttl } },
    bedrock: { cachePoint: { type: 'default', ...ttl } },
  };
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/**
 * Converts a part of an assistant message. The result includes the options that the provider must get back.
 */
function assistantContent(part: AssistantPart): AssistantContent {
  const options = optionsOf(part.providerState);
  switch (part.kind) {
    case 'text':
      return [{ type: 'text', text: part.text, ...options }];
    case 'structured':
      return [{ type: 'text', text: JSON.stringify(part.value), ...options }];
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...options }];
    case 'media':
    case 'file':
      return [{ ...filePart(part), ...options }];
    case 'tool_call': {
      const { toolCallId, name: toolName, input } = part;
      return [{ type: 'tool-call', toolCallId, toolName, input, ...options }];
    }
    case 'custom':
      return hostedContent(part.value, options);
  }
}

type Options = { readonly providerOptions?: Record<string, JsonObject> };

/** Converts a part that `HostedBlocks` stored. Returns an empty list if a prompt cannot contain the part. */
function hostedContent(stored: JsonValue, options: Options): AssistantContent {
  if (!isJsonObject(stored)) return [];
  const toolCallId = textIn(stored, 'toolCallId') ?? '';
  const toolName = textIn(stored, 'toolName') ?? '';
  switch (stored['type']) {
    case 'tool-call': {
      const input = inputOf(textIn(stored, 'input') ?? '{}');
      return [
        { type: 'tool-call', toolCallId, toolName, input, providerExecuted: true, ...options },
      ];
    }
    case 'tool-result':
      return [
        { type: 'tool-result', toolCallId, toolName, output: hostedOutput(stored), ...options },
      ];
    case 'reasoning-file': {
      const [mediaType = '', data] = [
        textIn(stored, 'mediaType'),
        dataOf(objectIn(stored, 'data')),
      ];
      return data === undefined ? [] : [{ type: 'reasoning-file', mediaType, data, ...options }];
    }
    case 'custom':
      return [
        {
          type: 'custom',
          kind: textIn(stored, 'kind') as LanguageModelV4CustomPart['kind'],
          ...options,
        },
      ];
    default:
      return [];
  }
}

function inputOf(text: string): JsonValue {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

function hostedOutput({ result = null, isError }: JsonObject): LanguageModelV4ToolResultOutput {
  if (isError === true) return { type: 'error-json', value: result };
  return typeof result === 'string'
    ? { type: 'text', value: result }
    : { type: 'json', value: result };
}

function dataOf(data: JsonObject | undefined): SentData | undefined {
  const [bytes, url] = [textIn(data, 'data'), textIn(data, 'originalUrl') ?? textIn(data, 'url')];
  if (bytes !== undefined) return { type: 'data', data: bytes };
  return url === undefined ? undefined : urlData(url);
}

/** Converts the result of a call that the client ran. */
function resultPart(result: ToolResultPart): LanguageModelV4ToolResultPart {
  const { toolCallId, name } = result;
  return { type: 'tool-result', toolCallId, toolName: name, output: resultOutput(result) };
}

function resultOutput({
  text,
  isError,
  attachments = [],
}: ToolResultPart): LanguageModelV4ToolResultOutput {
  if (attachments.length === 0) {
    // Some providers reject an empty text.
    return { type: isError ? 'error-text' : 'text', value: text === '' ? '(no output)' : text };
  }
  // This format has no error flag, so the text itself states that it is an error.
  const output = isError ? `Error: ${text}` : text;
  const textParts = output === '' ? [] : [{ type: 'text', text: output } as const];
  return { type: 'content', value: [...textParts, ...attachments.map(attachmentPart)] };
}

/**
 * Removes hosted calls without a result, and results without a call. Responses that were cut off contain
 * them, and many providers reject them. A call in the last answer is kept until the user sends a message,
 * because its result may still arrive.
 */
function withoutUnpairedCalls(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const mayWait = !messages.slice(last + 1).some(({ role }) => role === 'user');
  const calls = idsOf(messages, 'tool-call');
  const results = idsOf(messages, 'tool-result');
  return messages.map((message, index) => {
    if (message.role !== 'assistant') return message;
    const isPaired = (part: AssistantPart) => {
      if (isHostedPart(part, 'tool-result')) return calls.has(idOf(part));
      if (!isHostedPart(part, 'tool-call')) return true;
      return results.has(idOf(part)) || (mayWait && index === last);
    };
    return { ...message, parts: message.parts.filter(isPaired) };
  });
}

function idsOf(messages: readonly Message[], type: string): ReadonlySet<string | undefined> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []));
  return new Set(parts.flatMap((part) => (isHostedPart(part, type) ? [idOf(part)] : [])));
}

function isHostedPart(part: AssistantPart, type: string): part is CustomPart {
  return part.kind === 'custom' && isJsonObject(part.value) && part.value['type'] === type;
}

function idOf({ value }: CustomPart): string | undefined {
  return isJsonObject(value) ? textIn(value, 'toolCallId') : undefined;
}
