import {
  type Delta,
  type DeltaWriter,
  type Ids,
  noUsage,
  type PartId,
  type PartKind,
  type RetractReason,
  type Stop,
  type Usage,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ResponseEnd, StreamItem, StreamStep } from '../contract/provider.ts';
import { ProviderError, type ProviderErrorKind } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { closeCutPart, closeParts } from '../provider/close-parts.ts';
import { contentSteps } from './content-steps.ts';
import type { ScriptedFault, ScriptedPieces, ScriptedResponse } from './script.ts';

type PlaybackEvent =
  | { readonly type: 'step' | 'end'; readonly step: StreamStep }
  | { readonly type: 'stall' };

interface PlaybackOptions {
  /** The id of the provider. */
  readonly id: string;
  readonly request: ModelRequest;
  readonly ids: Ids;
  /** The rule that splits text into deltas. Default: `character`. */
  readonly pieces?: ScriptedPieces | undefined;
}

/**
 * Plays one response step by step. If the response has a fault, the fault is played too. The caller controls
 * the timing.
 */
export class ResponsePlayback {
  readonly #response: ScriptedResponse;
  readonly #writer: DeltaWriter;
  readonly #provider: string;
  readonly #steps: Iterator<readonly Delta[]>;
  readonly #openRecorded: OpenParts | undefined;
  #emittedSteps = 0;
  #hasFaultOccurred = false;
  #hasCalls = false;
  #writtenLength = 0;
  /** The deltas of a step that must be emitted only after the following step. */
  #delayed: readonly Delta[] = [];

  constructor(
    response: ScriptedResponse,
    writer: DeltaWriter,
    item: StreamItem,
    { id, request, ids, pieces = 'character' }: PlaybackOptions,
  ) {
    this.#response = response;
    this.#writer = writer;
    this.#provider = id;
    this.#openRecorded = 'deltas' in response.content ? new OpenParts() : undefined;
    const split = { pieces: response.pieces ?? pieces, request, ids };
    this.#steps = contentSteps(response.content, writer, item, split);
  }

  next(isAborted: boolean): PlaybackEvent {
    if (isAborted) return this.#fail('aborted');
    const fault = this.#dueFault();
    if (fault?.type === 'stall') return { type: 'stall' };
    if (fault?.type === 'cut') return this.#fail('truncated_stream');
    if (fault?.type === 'error') return this.#fail(fault.error);
    try {
      const { done, value } = this.#steps.next();
      return done ? this.#finish() : this.#emit(value, fault?.type === 'swap');
    } catch (cause) {
      return this.#fail(scriptMistake(this.#provider, 'its content threw an error', cause));
    }
  }

  #dueFault(): ScriptedFault | undefined {
    const { fault } = this.#response;
    return fault?.after === this.#emittedSteps ? fault : undefined;
  }

  #emit(deltas: readonly Delta[], isSwapped: boolean): PlaybackEvent {
    this.#track(deltas);
    this.#emittedSteps++;
    if (isSwapped) {
      this.#hasFaultOccurred = true;
      this.#delayed = deltas;
      return this.next(false);
    }
    const emitted = [...deltas, ...this.#delayed];
    this.#delayed = [];
    return { type: 'step', step: { deltas: emitted } };
  }

  #track(deltas: readonly Delta[]): void {
    for (const delta of deltas) {
      this.#openRecorded?.apply(delta);
      if (delta.type === 'begin_part' && delta.kind === 'tool_call') this.#hasCalls = true;
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
  }

  #finish(): PlaybackEvent {
    const problem = this.#problem();
    if (problem !== undefined) return this.#fail(scriptMistake(this.#provider, problem));
    const deltas = this.#writer.take();
    this.#track(deltas);
    const { stop = this.#hasCalls ? 'tool_use' : 'stop' } = this.#response;
    const end = { stop: typeof stop === 'string' ? { reason: stop } : stop, usage: this.#usage() };
    return { type: 'end', step: { deltas: [...deltas, ...this.#delayed], end } };
  }

  /** Returns an error of the script that is detected only after all steps were played, or undefined. */
  #problem(): string | undefined {
    const { fault } = this.#response;
    if (fault !== undefined && !this.#hasFaultOccurred)
      return `its fault is due after ${fault.after} steps, but it has ${this.#emittedSteps}`;
    const open = this.#writer.open.length + (this.#openRecorded?.size ?? 0);
    return open > 0 ? `it leaves ${open} parts open` : undefined;
  }

  #fail(cause: ProviderErrorKind | ProviderError): PlaybackEvent {
    const error = typeof cause === 'string' ? this.#errorOf(cause) : cause;
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    const why = reason === 'aborted' ? 'aborted' : 'cut';
    closeParts(this.#writer, why);
    const written = this.#writer.take();
    this.#track(written);
    const deltas = [...this.#delayed, ...written, ...(this.#openRecorded?.close(why) ?? [])];
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

/** Tracks the parts that recorded deltas do not close. */
class OpenParts {
  readonly #open = new Map<PartId, { readonly kind: PartKind; length: number }>();

  get size(): number {
    return this.#open.size;
  }

  apply(delta: Delta): void {
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

  /** Returns the deltas that close the open parts, as in a response that was cut off. */
  close(reason: RetractReason): readonly Delta[] {
    return [...this.#open].map(([partId, { kind, length }]) =>
      closeCutPart(partId, kind, length, reason),
    );
  }
}

/** Returns the error for a response that cannot be played as the script requires. */
export function scriptMistake(provider: string, problem: string, cause?: unknown): ProviderError {
  const message = `Cannot play the scripted response: ${problem}. Fix the script`;
  return new ProviderError('invalid_request', message, { provider, cause });
}
