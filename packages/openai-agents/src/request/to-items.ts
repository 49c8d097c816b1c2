import { countingIds, type Item, type ItemId, type ItemKind, type Part } from '@millrace/core';
import type { AgentInputItem } from '@openai/agents';
import { callPart, privatePart, saidPart } from './assistant-parts.ts';
import { resultPart } from './result-part.ts';
import { userParts } from './user-parts.ts';

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
