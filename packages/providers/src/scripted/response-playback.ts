import {
  type Delta,
  type DeltaWriter,
  noUsage,
  type PartId,
  type PartKind,
  type RetractReason,
  type Stop,
  type Usage,
} from '@millrace/core';
import { cutPart } from '../contract/cut-part.ts';
import type { ResponseEnd, StreamItem, StreamStep } from '../contract/provider.ts';
import { messageFor } from '../errors/advice.ts';
import { ProviderError, type ProviderErrorKind } from '../errors/provider-error.ts';
import { closeParts } from '../wire/close-parts.ts';
import { speak } from './content-steps.ts';
import type { Pieces, ScriptedFault, ScriptedResponse } from './script.ts';

type Act =
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
  #isFaultTold = false;
  #hasCalls = false;
  #writtenLength = 0;
  /** A step that is told too late. */
  #swapped: readonly Delta[] = [];

  constructor(
    response: ScriptedResponse,
    writer: DeltaWriter,
    item: StreamItem,
    { id, pieces = 'character' }: { readonly id: string; readonly pieces?: Pieces | undefined },
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
    try {
      const { done, value } = this.#steps.next();
      return done ? this.#finish() : this.#tell(value, fault?.type === 'swap');
    } catch (cause) {
      return this.#fail(mistake(this.#provider, 'its content throws', cause));
    }
  }

  #dueFault(): ScriptedFault | undefined {
    const { fault } = this.#response;
    return fault?.after === this.#told ? fault : undefined;
  }

  #tell(deltas: readonly Delta[], isSwapped: boolean): Act {
    this.#note(deltas);
    this.#told++;
    if (isSwapped) {
      this.#isFaultTold = true;
      this.#swapped = deltas;
      return this.next(false);
    }
    const told = [...deltas, ...this.#swapped];
    this.#swapped = [];
    return { type: 'step', step: { deltas: told } };
  }

  #note(deltas: readonly Delta[]): void {
    for (const delta of deltas) {
      this.#recorded?.note(delta);
      if (delta.type === 'begin_part' && delta.kind === 'tool_call') this.#hasCalls = true;
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
  }

  #finish(): Act {
    const problem = this.#problem();
    if (problem !== undefined) return this.#fail(mistake(this.#provider, problem));
    const deltas = this.#writer.take();
    this.#note(deltas);
    const { stop = this.#hasCalls ? 'tool_use' : 'stop' } = this.#response;
    const end = { stop: typeof stop === 'string' ? { reason: stop } : stop, usage: this.#usage() };
    return { type: 'end', step: { deltas: [...deltas, ...this.#swapped], end } };
  }

  /** What the script got wrong, now that all of it was said. */
  #problem(): string | undefined {
    const { fault } = this.#response;
    if (fault !== undefined && !this.#isFaultTold)
      return `its fault is to come after ${fault.after} steps, and it has ${this.#told}`;
    const open = this.#writer.open.length + (this.#recorded?.size ?? 0);
    return open > 0 ? `it leaves ${open} parts open` : undefined;
  }

  #fail(cause: ProviderErrorKind | ProviderError): Act {
    const error = typeof cause === 'string' ? this.#errorOf(cause) : cause;
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    const why = reason === 'aborted' ? 'aborted' : 'cut';
    closeParts(this.#writer, why);
    const written = this.#writer.take();
    this.#note(written);
    const deltas = [...this.#swapped, ...written, ...(this.#recorded?.close(why) ?? [])];
    const stop: Stop = { reason, cause: error.kind };
    const end: ResponseEnd = { stop, usage: this.#usage(true), error };
    return { type: 'end', step: { deltas, end } };
  }

  #errorOf(kind: ProviderErrorKind): ProviderError {
    const provider = this.#provider;
    return new ProviderError(kind, messageFor(kind, provider, 'as scripted'), { provider });
  }

  #usage(estimated = false): Usage {
    const output = Math.ceil(this.#writtenLength / 4);
    return { ...noUsage, output, estimated, ...this.#response.usage };
  }
}

/** The parts that deltas written by somebody else leave open. */
class OpenDeltas {
  readonly #open = new Map<PartId, { readonly kind: PartKind; length: number }>();

  get size(): number {
    return this.#open.size;
  }

  note(delta: Delta): void {
    switch (delta.type) {
      case 'begin_part':
        this.#open.set(delta.partId, { kind: delta.kind, length: 0 });
        return;
      case 'append_text':
      case 'append_bytes': {
        const part = this.#open.get(delta.partId);
        if (part !== undefined) part.length = delta.at + delta.chunk.length;
        return;
      }
      case 'commit_part':
      case 'retract_part':
        this.#open.delete(delta.partId);
        return;
      default:
    }
  }

  /** The deltas that close them as a cut response is closed. */
  close(reason: RetractReason): readonly Delta[] {
    return [...this.#open].map(([partId, { kind, length }]) =>
      cutPart(partId, kind, length, reason),
    );
  }
}

/** A response that cannot be said as it was scripted. */
export function mistake(provider: string, problem: string, cause?: unknown): ProviderError {
  const message = `Cannot say the scripted response: ${problem}. Mend the script`;
  return new ProviderError('invalid_request', message, { provider, cause });
}
