import { type Delta, type DeltaWriter, noUsage, type Stop, type Usage } from '@millrace/core';
import type { ResponseEnd, StreamItem, StreamStep } from '../contract/provider.ts';
import { messageFor } from '../errors/advice.ts';
import { ProviderError, type ProviderErrorKind } from '../errors/provider-error.ts';
import { closeParts } from '../wire/close-parts.ts';
import { OpenDeltas } from './open-deltas.ts';
import type { Pieces } from './pieces.ts';
import type { ScriptedFault, ScriptedResponse } from './script.ts';
import { speak } from './speak.ts';

export type Act =
  | { readonly type: 'step' | 'end'; readonly step: StreamStep }
  | { readonly type: 'stall' };

/** One response as it is said, step by step, with its fault. Time is its caller's business. */
export class Performance {
  readonly #response: ScriptedResponse;
  readonly #writer: DeltaWriter;
  readonly #provider: string;
  readonly #steps: Iterator<readonly Delta[]>;
  readonly #recorded: OpenDeltas | undefined;
  #told = 0;
  #hasCalls = false;
  #writtenLength = 0;
  /** A step that is told too late. */
  #swapped: readonly Delta[] = [];

  constructor(
    response: ScriptedResponse,
    writer: DeltaWriter,
    item: StreamItem,
    { id, pieces = 'character' }: { readonly id: string; readonly pieces?: Pieces },
  ) {
    this.#response = response;
    this.#writer = writer;
    this.#provider = id;
    this.#recorded = 'deltas' in response.content ? new OpenDeltas() : undefined;
    this.#steps = speak(response.content, writer, item, response.pieces ?? pieces);
  }

  next(isAborted: boolean): Act {
    if (isAborted) return this.#fail('aborted');
    const fault = this.#dueFault();
    if (fault?.type === 'stall') return { type: 'stall' };
    if (fault?.type === 'cut') return this.#fail('truncated_stream');
    if (fault?.type === 'error') return this.#fail(fault.error);
    const { done, value } = this.#steps.next();
    if (done) return this.#finish();
    this.#note(value);
    this.#told++;
    if (fault?.type === 'swap') {
      this.#swapped = value;
      return this.next(isAborted);
    }
    const deltas = [...value, ...this.#swapped];
    this.#swapped = [];
    return { type: 'step', step: { deltas } };
  }

  #dueFault(): ScriptedFault | undefined {
    const { fault } = this.#response;
    return fault?.after === this.#told ? fault : undefined;
  }

  #note(deltas: readonly Delta[]): void {
    for (const delta of deltas) {
      this.#recorded?.note(delta);
      if (delta.type === 'begin_part' && delta.kind === 'tool_call') this.#hasCalls = true;
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
  }

  #finish(): Act {
    const { stop = this.#hasCalls ? 'tool_use' : 'stop' } = this.#response;
    const said: Stop = typeof stop === 'string' ? { reason: stop } : stop;
    const deltas = [...this.#writer.take(), ...this.#swapped];
    return { type: 'end', step: { deltas, end: { stop: said, usage: this.#usage(false) } } };
  }

  #fail(cause: ProviderErrorKind | ProviderError): Act {
    const error = typeof cause === 'string' ? this.#errorOf(cause) : cause;
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    const why = reason === 'aborted' ? 'aborted' : 'cut';
    closeParts(this.#writer, why);
    const deltas = [...this.#writer.take(), ...(this.#recorded?.close(why) ?? [])];
    const stop: Stop = { reason, cause: error.kind };
    const end: ResponseEnd = { stop, usage: this.#usage(true), error };
    return { type: 'end', step: { deltas, end } };
  }

  #errorOf(kind: ProviderErrorKind): ProviderError {
    const provider = this.#provider;
    return new ProviderError(kind, messageFor(kind, provider, 'as scripted'), { provider });
  }

  #usage(estimated: boolean): Usage {
    const output = Math.ceil(this.#writtenLength / 4);
    return { ...noUsage, output, estimated, ...this.#response.usage };
  }
}
