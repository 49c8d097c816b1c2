import {
  type DeltaWriter,
  type Ids,
  type ProviderState,
  type TextWriter,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/** What the package says of a call when it is whole. */
export interface WholeCall {
  readonly name: string;
  readonly input: string;
  readonly providerState: ProviderState | undefined;
}

/**
 * A call for the client, while it streams. Whole is not yet sure: packages call what a cut stream
 * left of a call whole too, before they say that it was cut. So it is committed at the end.
 */
export class ToolCall {
  readonly #writer: DeltaWriter;
  readonly #id: ToolCallId;
  /** What came of the input, as it was sent; read only when the call is whole. */
  #streamed = '';
  #part: TextWriter | undefined;
  #name = '';
  #whole: WholeCall | undefined;

  constructor(writer: DeltaWriter, id: ToolCallId) {
    this.#writer = writer;
    this.#id = id;
  }

  get whole(): WholeCall | undefined {
    return this.#whole;
  }

  begin(name: string): void {
    if (name === '' || this.#part !== undefined) return;
    this.#name = name;
    this.#part = this.#writer.toolCall(this.#id, name);
    this.#part.append(this.#streamed);
  }

  append(fragment: string): void {
    this.#streamed += fragment;
    this.#part?.append(fragment);
  }

  /** The package's last word on the input: what is missing is added, a contradiction waits for the end. */
  complete(whole: WholeCall): void {
    if (whole.name === '') throw fault('protocol_error', 'a tool call has no name');
    this.#whole = whole;
    this.begin(whole.name);
    if (this.#isContinued(whole)) this.append(whole.input.slice(this.#streamed.length));
  }

  /** The response is complete. A call that never became whole goes. */
  end(): void {
    if (this.#whole === undefined) return this.#part?.retract('cut');
    const { name, input, providerState } = this.#whole;
    if (this.#isContinued(this.#whole)) return this.#part?.commit({ providerState });
    this.#part?.replace({
      kind: 'tool_call',
      toolCallId: this.#id,
      name,
      arguments: input,
      ...(providerState === undefined ? {} : { providerState }),
    });
  }

  /** It was the provider's after all: gives the part to be replaced. */
  handOver(): TextWriter | undefined {
    const part = this.#part;
    this.#part = undefined;
    return part;
  }

  #isContinued({ name, input }: WholeCall): boolean {
    return name === this.#name && input.startsWith(this.#streamed);
  }
}

/** The id that the package gives, or one of ours where that is not fit to be one. */
export function callIdOf(id: unknown, ids: Ids): ToolCallId {
  try {
    return toolCallId(String(id ?? ''));
  } catch {
    return ids.toolCall();
  }
}
