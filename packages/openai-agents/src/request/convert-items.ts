import {
  countingIds,
  type Item,
  type ItemId,
  type ItemKind,
  type Part,
  type ToolResultPart,
} from '@millrace/core';
import type { AgentInputItem, protocol } from '@openai/agents';
import { addressOf, toOutputItems } from '../response/to-response.ts';
import { callPart, privatePart, resultPart, saidPart, userParts } from './content-parts.ts';

export interface InputItems {
  readonly items: readonly Item[];
  /** Those at whose end the caller marked a prefix that is worth keeping. */
  readonly cachePoints: readonly ItemId[];
}

/** The SDK's input as items: what the model said in a row is one, and so are the results that follow. */
export function toItems(
  input: string | readonly AgentInputItem[],
  instructions?: string,
): InputItems {
  const history = new History();
  if (instructions) history.add('system', [{ kind: 'text', text: instructions }]);
  if (typeof input === 'string') history.add('user', userParts(input));
  else for (const item of input) history.take(item);
  return history;
}

class History implements InputItems {
  readonly items: (Item & { readonly parts: Part[] })[] = [];
  readonly cachePoints: ItemId[] = [];
  readonly #ids = countingIds();

  take(item: AgentInputItem): void {
    if ('role' in item) return this.#message(item);
    switch (item.type) {
      case 'reasoning':
        return this.#join('assistant', privatePart(item));
      case 'function_call':
        return this.#join('assistant', callPart(item));
      case 'function_call_result':
        return this.#join('tool', resultPart(item));
      default:
        // Of tools that another provider hosts, or that the SDK runs for its own models only.
        return;
    }
  }

  add(kind: ItemKind, parts: readonly Part[]): void {
    if (parts.length > 0) this.items.push({ id: this.#ids.item(), kind, parts: [...parts] });
  }

  #message(item: Extract<AgentInputItem, { role: string }>): void {
    switch (item.role) {
      case 'system':
        return this.add('system', userParts(item.content));
      case 'user':
        this.add('user', userParts(item.content));
        return this.#markCachePoint(item.content);
      case 'assistant':
        for (const content of item.content) this.#join('assistant', saidPart(content));
    }
  }

  #join(kind: ItemKind, part: Part | undefined): void {
    if (part === undefined) return;
    const last = this.items.at(-1);
    if (last?.kind === kind) last.parts.push(part);
    else this.add(kind, [part]);
  }

  #markCachePoint(content: string | readonly object[]): void {
    const isMarked = (one: object) => 'promptCacheBreakpoint' in one && one.promptCacheBreakpoint;
    const last = this.items.at(-1);
    if (typeof content === 'string' || last === undefined) return;
    if (content.some(isMarked)) this.cachePoints.push(last.id);
  }
}

/**
 * Millrace's items as input of a run, for instance `context.toItems(await context.messages.list())`:
 * the way back of `toModelRequest`. What is for people only is left out.
 */
export function toInputItems(items: readonly Item[]): AgentInputItem[] {
  return items.flatMap(itemToInput);
}

function itemToInput({ id, kind, parts }: Item): readonly AgentInputItem[] {
  switch (kind) {
    case 'system':
    case 'developer':
      return [{ role: 'system', content: textOf(parts) }];
    case 'user':
    case 'context':
      return [{ role: 'user', content: parts.flatMap((part) => heard(part) ?? []) }];
    case 'assistant':
      return toOutputItems(parts.map((part, at) => ({ id: `${id}.${at}`, part })));
    case 'tool':
      return parts.flatMap((part) => (part.kind === 'tool_result' ? resultItem(part) : []));
    case 'notification':
      return [];
  }
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

type Heard = protocol.InputText | protocol.InputImage | protocol.InputFile;

function heard(part: Part): Heard | undefined {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'structured':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'media':
    case 'file': {
      const address = addressOf(part);
      if (address === undefined) return undefined;
      if (part.mimeType.startsWith('image/')) return { type: 'input_image', image: address };
      const filename = part.kind === 'file' ? part.name : undefined;
      return { type: 'input_file', file: address, filename };
    }
    default:
      return undefined;
  }
}

function resultItem(part: ToolResultPart): protocol.FunctionCallResultItem {
  const { toolCallId: callId, name, text, isError, attachments = [] } = part;
  const shown = attachments.flatMap((one) => heard(one) ?? []);
  return {
    ...{ type: 'function_call_result', callId, name },
    status: isError ? 'incomplete' : 'completed',
    output: shown.length === 0 ? text : [{ type: 'input_text', text }, ...shown],
  };
}
