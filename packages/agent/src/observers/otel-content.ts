import type { AgentEvent, Part, Stop, ToolCallId } from '@millrace/core';
import type { Attributes } from '@opentelemetry/api';

/** Backends refuse spans that are too large. */
const maxLength = 32_768;
const maxParts = 64;

/** A part of a message, as the conventions have it. */
interface Said {
  readonly type: 'text' | 'reasoning' | 'tool_call';
  readonly content?: string;
  readonly [field: string]: unknown;
}

/** What was said in a turn, for those who want to see it in their traces. Forgotten with the turn. */
export class TracedContent {
  /** The parts of each attempt, by their ids. */
  readonly #said = new Map<string, Said>();
  readonly #inputs = new Map<ToolCallId, string>();
  readonly #results = new Map<ToolCallId, string>();

  hear(event: AgentEvent): void {
    // What people say belongs to no attempt.
    if (event.turn === 0) return;
    switch (event.type) {
      case 'assistant_text_delta':
        return this.#add(event.partId, 'text', event.text);
      case 'reasoning_delta':
        return this.#add(event.partId, 'reasoning', event.text);
      case 'tool_call_ready': {
        const { partId, id, name, input } = event;
        const text = JSON.stringify(input);
        const isShort = text.length <= maxLength;
        const args = isShort ? input : clip(text);
        this.#said.set(partId, { type: 'tool_call', id, name, arguments: args });
        this.#inputs.set(id, text);
        return;
      }
      case 'part_finished':
        if (event.part !== undefined) this.#replace(event.partId, event.part);
        return;
      case 'part_retracted':
        this.#said.delete(event.partId);
        return;
      case 'turn_finished':
        return this.#forget(event.turn);
      default:
    }
  }

  ofResponse(turn: number, attempt: number, { reason, raw }: Stop): Attributes {
    const parts = [...this.#said]
      .filter(([id]) => id.startsWith(`${turn}.${attempt}.`))
      .slice(0, maxParts)
      .map(([, { content, ...part }]) =>
        typeof content === 'string' ? { ...part, content: clip(content) } : part,
      );
    const message = { role: 'assistant', parts, finish_reason: raw ?? reason };
    return { 'gen_ai.output.messages': JSON.stringify([message]) };
  }

  ofInput(id: ToolCallId): Attributes {
    const input = this.#inputs.get(id);
    return input === undefined ? {} : { 'gen_ai.tool.call.arguments': clip(input) };
  }

  ofResult(id: ToolCallId): Attributes {
    const result = this.#results.get(id);
    return result === undefined ? {} : { 'gen_ai.tool.call.result': clip(result) };
  }

  #add(partId: string, type: Said['type'], text: string): void {
    const before = this.#said.get(partId)?.content ?? '';
    this.#said.set(partId, { type, content: `${before}${text}` });
  }

  #replace(partId: string, part: Part): void {
    if (part.kind === 'tool_result') this.#results.set(part.toolCallId, part.text);
    if (part.kind === 'text' || part.kind === 'reasoning')
      this.#said.set(partId, { type: part.kind, content: part.text });
    else this.#said.delete(partId);
  }

  #forget(turn: number): void {
    this.#inputs.clear();
    this.#results.clear();
    for (const id of this.#said.keys()) if (id.startsWith(`${turn}.`)) this.#said.delete(id);
  }
}

function clip(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`.toWellFormed();
}
