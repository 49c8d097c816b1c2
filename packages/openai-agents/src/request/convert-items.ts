import {
  countingIds,
  type Item,
  type ItemId,
  type ItemKind,
  type Part,
  type ToolResultPart,
} from '@millrace/core';
import type { AgentInputItem, protocol } from '@openai/agents';
import { toOutputItems, toUrl } from '../response/to-response.ts';
import { assistantPart, callPart, reasoningPart, resultPart, userParts } from './content-parts.ts';

/** The items of an SDK input, and the positions of its cache marks. */
export interface ConvertedInput {
  readonly items: readonly Item[];
  /** The ids of the items up to which the caller marked the input for caching. */
  readonly cachePoints: readonly ItemId[];
}

/**
 * Converts the SDK's input to items. Consecutive outputs of the model become one assistant item,
 * and consecutive tool results become one tool item.
 */
export function toItems(
  input: string | readonly AgentInputItem[],
  instructions?: string,
): ConvertedInput {
  const history = new ItemBuilder();
  if (instructions) history.add('system', [{ kind: 'text', text: instructions }]);
  if (typeof input === 'string') history.add('user', userParts(input));
  else for (const item of input) history.addInput(item);
  return history;
}

class ItemBuilder implements ConvertedInput {
  readonly items: (Item & { readonly parts: Part[] })[] = [];
  readonly cachePoints: ItemId[] = [];
  readonly #ids = countingIds();

  addInput(item: AgentInputItem): void {
    if ('role' in item) return this.#message(item);
    switch (item.type) {
      case 'reasoning':
        return this.#join('assistant', reasoningPart(item));
      case 'function_call':
        return this.#join('assistant', callPart(item));
      case 'function_call_result':
        return this.#join('tool', resultPart(item));
      default:
        // These items belong to tools that a different provider hosts, or that the SDK runs only for its own
        // models. Other models cannot use them.
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
        for (const content of item.content) this.#join('assistant', assistantPart(content));
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
 * Converts Millrace items to the input of a run, for example `context.toItems(await
 * context.messages.list())`. The result omits notifications. This function is the inverse of `toItems`.
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
      return [{ role: 'user', content: parts.flatMap((part) => toInputContent(part) ?? []) }];
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

type InputContent = protocol.InputText | protocol.InputImage | protocol.InputFile;

function toInputContent(part: Part): InputContent | undefined {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'structured':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'media':
    case 'file': {
      const address = toUrl(part);
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
  const attached = attachments.flatMap((one) => toInputContent(one) ?? []);
  return {
    ...{ type: 'function_call_result', callId, name },
    status: isError ? 'incomplete' : 'completed',
    output: attached.length === 0 ? text : [{ type: 'input_text', text }, ...attached],
  };
}
