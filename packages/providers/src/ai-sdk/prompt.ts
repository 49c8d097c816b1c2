import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { JsonObject, StructuredPart, TextPart } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import type { Message, SaidPart } from '../history/message.ts';
import type { Owner } from '../history/own-parts.ts';
import { toMessages } from '../history/to-messages.ts';
import { assistantContent } from './assistant-content.ts';
import { attachmentPart } from './file-part.ts';
import { withPairs } from './hosted-pairs.ts';
import { resultPart } from './result-part.ts';

/** The items of a request in the words of the SDK, of its newest version. */
export function promptOf(request: ModelRequest, owner: Owner): LanguageModelV4Prompt {
  const messages = withPairs(toMessages(request, owner));
  const firstSaid = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return messages.flatMap((message, index) => {
    const sent = messageOf(message, firstSaid >= 0 && index > firstSaid);
    if (sent.content.length === 0) return [];
    return message.isCachePoint ? { ...sent, providerOptions: cachePoint(request) } : sent;
  });
}

function messageOf(message: Message, isUnderWay: boolean): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const text = message.parts.map((part) => instruction(part, message.role)).join('');
      // Most packages refuse instructions that are not at the beginning.
      return isUnderWay
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

function instruction(part: SaidPart, role: string): string {
  if (part.kind === 'text' || part.kind === 'structured') return textOf(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; say it as a user item`);
}

function userPart(part: SaidPart) {
  return part.kind === 'media' || part.kind === 'file'
    ? attachmentPart(part)
    : ({ type: 'text', text: textOf(part) } as const);
}

/** Prose, and structured output as its JSON. */
function textOf(part: TextPart | StructuredPart): string {
  return part.kind === 'text' ? part.text : JSON.stringify(part.value);
}

/** For the providers that want to be told. Each package reads only what is under its own name. */
function cachePoint({ cache }: ModelRequest): Record<string, JsonObject> {
  const ttl = cache?.longLived ? { ttl: '1h' } : {};
  return {
    anthropic: { cacheControl: { type: 'ephemeral', ...ttl } },
    bedrock: { cachePoint: { type: 'default', ...ttl } },
  };
}
