import type { RunResult } from '@millrace/agent';
import { type AgentEvent, encodeEvent } from '@millrace/core';
import type { AnswerStream } from './answer-stream.ts';
import type { Notes, Output } from './output.ts';
import { countOf, oneLine, printable } from './printable.ts';

/** One form of what a run has to say, on standard output. */
export interface Printer {
  show(event: AgentEvent): Promise<void>;
  end(result: RunResult): Promise<void>;
}

export interface PrinterOptions {
  readonly output: Output;
  readonly notes: Notes;
}

/** The answer as text, as it comes. */
export function textPrinter(answer: AnswerStream, { output, notes }: PrinterOptions): Printer {
  const shown = output.stream.isTTY ? printable : (text: string) => text;
  return {
    async show(event) {
      const { text, anew } = answer.take(event);
      await output.write(shown(text));
      if (anew === undefined) return;
      await notes.say(tryAgain);
      await output.write(shown(anew));
    },
    end: async () => {},
  };
}

const tryAgain =
  'The answer was begun anew after an error: what stands before does not count, and it follows from its start';

/** What happened, one event a line. */
export function jsonPrinter({ output }: PrinterOptions): Printer {
  return {
    show: (event) => output.write(`${encodeEvent(event)}\n`),
    end: async () => {},
  };
}

/** The object that was asked for, when it was checked; nothing where there is none. */
export function valuePrinter({ output }: PrinterOptions): Printer {
  return {
    show: async () => {},
    end: async ({ value }) => {
      if (value === undefined) return;
      const json = JSON.stringify(value, undefined, output.stream.isTTY ? 2 : 0);
      await output.write(`${json}\n`);
    },
  };
}

const length = 100;

/**
 * What somebody who waits for an answer is told of a run, a line each: tools, and what goes wrong. It
 * remembers which tools run, so that it can say how long.
 */
export class Progress {
  readonly #started = new Map<string, { readonly summary: string; readonly time: number }>();

  take(event: AgentEvent): string | undefined {
    switch (event.type) {
      case 'tool_execution_started':
        this.#started.set(event.executionId, event);
        return line(`▸ ${event.summary}`);
      case 'tool_execution_finished':
        return this.#finished(event);
      case 'tool_call_rejected':
        return line(`✗ ${event.name} was not run (${event.code}): ${event.message}`);
      case 'approval_asked':
        return line(`? ${event.name} waits for approval${because(event.reason)}`);
      case 'approval_answered': {
        const done = event.decision === 'allow' ? 'allowed' : 'denied';
        return line(`? ${event.name} was ${done}${because(event.reason)}`);
      }
      case 'retry_scheduled': {
        const { error, delayMs } = event;
        return line(`↻ ${error.message} Once more in ${seconds(delayMs)}`);
      }
      case 'compacted':
        return line(
          `≡ what was said long ago is summarised (${countOf(event.itemIds.length, 'item')})`,
        );
      case 'handed_off':
        return line(`→ handed off to ${event.to}${because(event.reason)}`);
      default:
        return undefined;
    }
  }

  #finished(
    event: Extract<AgentEvent, { readonly type: 'tool_execution_finished' }>,
  ): string | undefined {
    const { executionId, name, isError, outcome, time } = event;
    const { summary = name, time: from = time } = this.#started.get(executionId) ?? {};
    this.#started.delete(executionId);
    const took = time - from >= 1000 ? ` ${seconds(time - from)}` : '';
    if (outcome === 'discarded') return undefined;
    if (outcome === 'lost') return line(`✗ ${summary}: nobody knows what became of it`);
    return line(isError ? `✗ ${summary} failed${took}` : `✓ ${summary}${took}`);
  }
}

function line(text: string): string {
  return oneLine(text, length);
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
