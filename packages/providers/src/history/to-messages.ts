import type {
  Item,
  Part,
  TextPart,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { type Attachment, describeAttachment } from './attachment.ts';
import { contentOptionsFor } from './content-options.ts';
import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  Message,
  SentToolCall,
} from './message.ts';
import {
  isRefusalExplanation,
  partForOwner,
  type StateOwner,
  sendableArguments,
  wellFormedText,
} from './sendable-parts.ts';
import { defaultIdRule, type ToolCallIdRule, ToolCallIds } from './tool-call-ids.ts';

interface HistoryOptions extends StateOwner {
  readonly ids?: ToolCallIdRule | undefined;
  /** True if requests can refer to files that the provider stores. Default: true. */
  readonly takesFiles?: boolean | undefined;
  /** Maximum number of cache points in the messages. Default: 4, which is the limit of all APIs. */
  readonly maxCachePoints?: number | undefined;
}

const defaultMaxCachePoints = 4;

/**
 * Converts the items of a request to messages that every provider accepts. Each call gets a valid id and
 * exactly one result. The function removes empty parts, and it removes each `providerState` of a different
 * provider. Call `checkRequest` first, because it checks the kinds of the items.
 */
export function toMessages(request: ModelRequest, options: HistoryOptions): readonly Message[] {
  const history = new MessageBuilder(options, new Set(request.cache?.upTo));
  for (const item of request.items) history.add(item);
  return withFewerPoints(history.messages(), options.maxCachePoints ?? defaultMaxCachePoints);
}

/**
 * Removes cache points if there are too many. The first point stays, because it marks a prefix that all
 * sessions of the agent have in common. The last points stay too.
 */
function withFewerPoints(messages: readonly Message[], max: number): readonly Message[] {
  const points = messages.filter(({ isCachePoint }) => isCachePoint);
  if (points.length <= max) return messages;
  const kept = new Set(max <= 1 ? points.slice(-max) : [points[0], ...points.slice(1 - max)]);
  return messages.map((message) =>
    kept.has(message) ? message : { ...message, isCachePoint: false },
  );
}

/** An assistant message with its calls. The results are added later, when they are found. */
interface AssistantExchange {
  readonly message: AssistantMessage;
  readonly calls: readonly CallAwaitingResult[];
}

interface CallAwaitingResult {
  readonly call: SentToolCall;
  readonly isValid: boolean;
  result?: ToolResultPart;
  isCachePoint: boolean;
}

class MessageBuilder {
  readonly #options: HistoryOptions;
  readonly #cachePoints: ReadonlySet<string>;
  readonly #ids: ToolCallIds;
  readonly #entries: (Message | AssistantExchange)[] = [];
  /** The calls, by their id in the history. A later call with the same id replaces an earlier call. */
  readonly #awaited = new Map<ToolCallId, CallAwaitingResult>();

  constructor(options: HistoryOptions, cachePoints: ReadonlySet<string>) {
    this.#options = options;
    this.#cachePoints = cachePoints;
    this.#ids = new ToolCallIds(options.ids ?? defaultIdRule);
  }

  add(item: Item): void {
    const isCachePoint = this.#cachePoints.has(item.id);
    switch (item.kind) {
      case 'system':
      case 'developer':
        return this.#addInput(item.kind, item, isCachePoint);
      case 'user':
      case 'context':
        return this.#addInput('user', item, isCachePoint);
      case 'assistant':
        return this.#addAssistant(item, isCachePoint);
      case 'tool':
        return this.#addResults(item, isCachePoint);
      case 'notification':
        // Notifications are for users only, so the model does not receive them.
        return;
    }
  }

  messages(): readonly Message[] {
    return this.#entries.flatMap((entry) => ('role' in entry ? entry : withResults(entry)));
  }

  #addInput(role: 'system' | 'developer' | 'user', item: Item, isCachePoint: boolean): void {
    const parts = item.parts.flatMap((part) => this.#contentPart(part) ?? []);
    if (parts.length > 0) this.#entries.push({ role, parts, isCachePoint });
  }

  #addAssistant(item: Item, isCachePoint: boolean): void {
    const calls: CallAwaitingResult[] = [];
    const parts = item.parts.flatMap((part): AssistantPart | readonly AssistantPart[] => {
      if (part.kind === 'tool_call') {
        const awaited = this.#addCall(part);
        calls.push(...awaited);
        return awaited.map(({ call }) => call);
      }
      const own = part.kind === 'reasoning' || part.kind === 'custom';
      // The user has seen the content of the blob. The model that created it does not need it again.
      if (isInBlob(part)) return [];
      return (own ? partForOwner(part, this.#options) : this.#contentPart(part)) ?? [];
    });
    if (parts.length === 0) return;
    this.#entries.push({ message: { role: 'assistant', parts, isCachePoint }, calls });
  }

  /** Adds a call that expects a result. Calls that were cut off are omitted. */
  #addCall(part: ToolCallPart): readonly CallAwaitingResult[] {
    if (part.partial) return [];
    const own = partForOwner(part, this.#options) ?? part;
    const sent = sendableArguments(part);
    const call: SentToolCall = {
      ...own,
      toolCallId: this.#ids.next(part.toolCallId),
      // Arguments that are not a JSON object become `{}`. Otherwise the provider would reject this request
      // and all later requests.
      ...(sent ?? { arguments: '{}', input: {} }),
    };
    const awaited: CallAwaitingResult = { call, isValid: sent !== undefined, isCachePoint: false };
    this.#awaited.set(part.toolCallId, awaited);
    return [awaited];
  }

  #addResults(item: Item, isCachePoint: boolean): void {
    for (const part of item.parts) {
      if (part.kind !== 'tool_result') continue;
      const awaited = this.#awaited.get(part.toolCallId);
      // Every provider rejects a result without a call, and a second result for the same call.
      if (awaited === undefined || awaited.result !== undefined) continue;
      const { toolCallId, name } = awaited.call;
      const sendable = sendableResult(part, this.#options);
      awaited.result = { ...sendable, toolCallId, name };
      awaited.isCachePoint ||= isCachePoint;
    }
  }

  #contentPart(part: Part): ContentPart | undefined {
    const own = partForOwner(part, this.#options);
    switch (own?.kind) {
      case 'text':
        return isSendableText(own) ? wellFormedText(own) : undefined;
      case 'structured':
        return own;
      case 'media':
      case 'file':
        return isForeign(own, this.#options)
          ? { kind: 'text', text: describeAttachment(own) }
          : withOwnOptions(own, this.#options);
      default:
        return undefined;
    }
  }
}

/**
 * Returns whether an attachment is a file that a different provider stores, and that this provider cannot
 * read. The two APIs of OpenAI share their files.
 */
function isForeign(
  { source }: Attachment,
  { provider, takesFiles = true }: HistoryOptions,
): boolean {
  if (source.type !== 'provider_file') return false;
  const name = provider.replace(/@.*$/s, '');
  const names = [provider, name, name.replace(/-responses$/, '')];
  return !takesFiles || !names.includes(source.provider);
}

function withOwnOptions(part: Attachment, { provider }: StateOwner): Attachment {
  const options = contentOptionsFor(part, provider);
  return options === undefined ? part : { ...part, options };
}

/**
 * Returns whether a text is sent. Empty texts without provider state are not sent. The provider's explanation
 * of a refusal is not sent either.
 */
function isSendableText(part: TextPart): boolean {
  return !isRefusalExplanation(part) && (part.text !== '' || part.providerState !== undefined);
}

function isInBlob(part: Part): boolean {
  return (part.kind === 'media' || part.kind === 'file') && part.source.type === 'blob';
}

/**
 * Returns a result that can be sent. Attachments in blobs are removed, for example the full text of a
 * shortened result. If only a different provider can read a file, the text of the result mentions the file.
 */
function sendableResult(part: ToolResultPart, options: HistoryOptions): ToolResultPart {
  const { attachments = [], ...rest } = part;
  const isReadable = (one: Attachment) => !isForeign(one, options);
  const sendable = attachments
    .filter((one) => !isInBlob(one) && isReadable(one))
    .map((one) => withOwnOptions(one, options));
  const named = attachments.filter((one) => !isReadable(one)).map(describeAttachment);
  const text = [part.text.toWellFormed(), ...named].filter((one) => one !== '').join('\n');
  return { ...rest, text, ...(sendable.length === 0 ? {} : { attachments: sendable }) };
}

/** Returns the message, followed by a message with one result for each of its calls. */
function withResults({ message, calls }: AssistantExchange): readonly Message[] {
  if (calls.length === 0) return [message];
  const results = calls.map(({ call, isValid, result }) => result ?? missingResult(call, isValid));
  const isCachePoint = calls.some((call) => call.isCachePoint);
  return [message, { role: 'tool', results, isCachePoint }];
}

function missingResult({ toolCallId, name }: SentToolCall, isValid: boolean): ToolResultPart {
  const text = isValid
    ? 'No result: the call was interrupted before it finished. Its effects are unknown.'
    : 'The call was not run: its arguments were not a JSON object.';
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}
