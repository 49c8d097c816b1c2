import {
  type DeltaWriter,
  type Ids,
  type JsonObject,
  type ProviderState,
  parseJson,
  type TextWriter,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { Nesting } from './nesting.ts';
import { isRepeat, mayRepeat, singleArguments } from './single-arguments.ts';

export interface ToolCallContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly provider: string;
  readonly model: string;
}

/**
 * One call while it streams. Its part begins with the first argument, because until then the id may
 * be missing and the name may still grow.
 */
export class ToolCall {
  readonly #context: ToolCallContext;
  #part: TextWriter | undefined;
  #id: string | undefined;
  #name = '';
  #arguments = '';
  /** `{}`, which may be a placeholder for what follows. */
  #held = '';
  #extra: JsonObject | undefined;
  #nesting: Nesting | undefined;

  /** Does its server say at which index it is? */
  readonly hasIndex: boolean;

  constructor(context: ToolCallContext, id: string | undefined, hasIndex: boolean) {
    this.#context = context;
    this.#id = id;
    this.hasIndex = hasIndex;
  }

  get id(): string | undefined {
    return this.#id;
  }

  get name(): string {
    return this.#name;
  }

  get hasArguments(): boolean {
    return this.#arguments !== '' || this.#held !== '';
  }

  /** Are the brackets of the arguments closed? Asked only where nothing else tells two calls apart. */
  get isComplete(): boolean {
    if (this.#nesting === undefined) {
      this.#nesting = new Nesting();
      this.#nesting.feed(this.#arguments);
    }
    return this.#held !== '' || this.#nesting.isClosed;
  }

  giveId(id: string): void {
    this.#id ??= id;
    this.#begin();
  }

  /** Names come whole, in pieces, again and again, or after the first arguments. */
  addName(name: string): void {
    const mayGrow = this.#part === undefined && !this.hasArguments;
    if (this.#name === '' || (mayGrow && name !== this.#name)) this.#name += name;
  }

  /** Something else begins: the part takes its place before it, if its start is known. */
  takePlace(): void {
    if (this.#part === undefined && this.#id !== undefined && this.#name !== '') this.#open();
  }

  addArguments(fragment: string): void {
    if (this.#held !== '') {
      if (!fragment.startsWith('{')) this.#write(this.#held);
      this.#held = '';
    }
    if (this.#arguments === '' && fragment === '{}') this.#held = fragment;
    else if (!this.#isRepeat(fragment)) this.#write(fragment);
  }

  /** What a provider adds to a call goes back to it as it is. */
  addExtra(extra: JsonObject): void {
    this.#extra = { ...this.#extra, ...extra };
  }

  /** The response is over, and so is the call; one that was cut short is whole only if its JSON is. */
  commit(isCutShort: boolean): void {
    if (this.#name === '') throw fault('protocol_error', 'a tool call has no name');
    this.#write(this.#held);
    this.#id ??= this.#context.ids.toolCall();
    const part = this.#begin() ?? this.#open();
    const providerState = this.#state();
    if (isCutShort && !parseJson(this.#arguments).ok) return part.commit({ partial: true });
    const single = singleArguments(this.#arguments);
    if (single === undefined) return part.commit({ providerState });
    const [id, name] = [toolCallId(this.#id), this.#name];
    const whole = { kind: 'tool_call', toolCallId: id, name, arguments: single } as const;
    part.replace(providerState === undefined ? whole : { ...whole, providerState });
  }

  #isRepeat(fragment: string): boolean {
    // The arguments are read only where it is likely, because reading flattens them.
    const isLikely = mayRepeat(fragment, this.#arguments.length);
    return isLikely && isRepeat(fragment, this.#arguments);
  }

  #write(fragment: string): void {
    this.#arguments += fragment;
    this.#nesting?.feed(fragment);
    if (this.#part === undefined) this.#begin();
    else this.#part.append(fragment);
  }

  /** Begins the part as soon as all that a start needs is known. */
  #begin(): TextWriter | undefined {
    const isKnown = this.#id !== undefined && this.#name !== '' && this.#arguments !== '';
    return this.#part === undefined && isKnown ? this.#open() : this.#part;
  }

  #open(): TextWriter {
    const id = this.#id ?? this.#context.ids.toolCall();
    const part = this.#context.writer.toolCall(toolCallId(id), this.#name);
    part.append(this.#arguments);
    this.#part = part;
    return part;
  }

  #state(): ProviderState | undefined {
    const { provider, model } = this.#context;
    return this.#extra && { provider, model, data: this.#extra };
  }
}
