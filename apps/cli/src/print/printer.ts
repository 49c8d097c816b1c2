import type { RunResult } from '@millrace/agent';
import { type AgentEvent, encodeEvent, type Item } from '@millrace/core';
import { oneLine } from '../text/cells/printable.ts';
import type { AnswerStream } from './answer-stream.ts';
import type { Notes, Output } from './output.ts';
import { countOf } from './text-table.ts';

/** Prints a run to standard output in one format. */
export interface Printer {
  show(event: AgentEvent): Promise<void>;
  end(result: RunResult): Promise<void>;
}

export interface PrinterOptions {
  readonly output: Output;
  readonly notes: Notes;
}

/**
 * Prints the answer when the run has ended. Text before a tool call and text of a failed attempt
 * are not part of the answer. This is known only at the end of a response, so the text is not
 * streamed.
 */
export function answerPrinter({ output }: PrinterOptions): Printer {
  return {
    show: async () => {},
    end: async ({ items }) => {
      const text = answerText(items);
      await output.writeData(text === '' || text.endsWith('\n') ? text : `${text}\n`);
    },
  };
}

/**
 * Returns the text of the model's last message. Returns an empty text if the message calls a tool.
 * If the provider paused the answer, the text includes the earlier messages of the same answer.
 */
function answerText(items: readonly Item[]): string {
  const last = items.at(-1);
  if (last?.kind !== 'assistant' || last.parts.some(({ kind }) => kind === 'tool_call')) return '';
  let first = items.length - 1;
  while (items[first - 1]?.kind === 'assistant' && items[first - 1]?.stop?.reason === 'pause')
    first--;
  return items
    .slice(first)
    .flatMap(({ parts }) => parts)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
}

/** Streams all text of the model, including text between tool calls. */
export function textPrinter(answer: AnswerStream, { output, notes }: PrinterOptions): Printer {
  return {
    async show(event) {
      const { text, restart } = answer.add(event);
      await output.writeData(text);
      if (restart === undefined) return;
      await notes.write(restartMessage);
      await output.writeData(restart);
    },
    end: async () => {},
  };
}

const restartMessage =
  'The answer restarted after an error. Ignore the text above; the complete answer follows';

/** Prints one event per line as JSON. */
export function jsonPrinter({ output }: PrinterOptions): Printer {
  return {
    show: (event) => output.writeData(`${encodeEvent(event)}\n`),
    end: async () => {},
  };
}

/** Prints the validated value. Prints nothing if there is no value. */
export function valuePrinter({ output }: PrinterOptions): Printer {
  return {
    show: async () => {},
    end: async ({ value }) => {
      if (value === undefined) return;
      const json = JSON.stringify(value, undefined, output.stream.isTTY ? 2 : 0);
      await output.writeData(`${json}\n`);
    },
  };
}

const maxLineLength = 100;

/**
 * Turns events into progress lines about tools and problems. It stores the start time of each
 * running tool to compute durations.
 */
export class Progress {
  readonly #started = new Map<string, { readonly summary: string; readonly time: number }>();

  lineFor(event: AgentEvent): string | undefined {
    switch (event.type) {
      case 'tool_execution_started':
        this.#started.set(event.executionId, event);
        return clipLine(`▸ ${event.summary}`);
      case 'tool_execution_finished':
        return this.#finished(event);
      case 'tool_call_rejected':
        return clipLine(`✗ ${event.name} did not run (${event.code}): ${event.message}`);
      case 'approval_asked':
        return clipLine(
          `? ${event.name}${askerText(event)} waits for approval${reasonText(event.reason)}`,
        );
      case 'approval_answered': {
        const done = event.decision === 'allow' ? 'allowed' : 'denied';
        return clipLine(`? ${event.name} was ${done}${reasonText(event.reason)}`);
      }
      case 'retry_scheduled': {
        const { error, delayMs } = event;
        return clipLine(`↻ ${error.message} Retrying in ${secondsText(delayMs)}`);
      }
      case 'compacted':
        return clipLine(
          event.itemIds.length === 0
            ? '≡ long messages are shortened to fit the context of the model'
            : `≡ older messages are summarized (${countOf(event.itemIds.length, 'item')})`,
        );
      case 'handed_off':
        return clipLine(`→ handed off to ${event.to}${reasonText(event.reason)}`);
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
    const took = time - from >= 1000 ? ` ${secondsText(time - from)}` : '';
    if (outcome === 'discarded' || outcome === 'parked') return undefined;
    if (outcome === 'lost') return clipLine(`✗ ${summary}: its outcome is unknown`);
    return clipLine(isError ? `✗ ${summary} failed${took}` : `✓ ${summary}${took}`);
  }
}

function clipLine(text: string): string {
  return oneLine(text, maxLineLength);
}

function askerText({ from }: { readonly from?: { readonly agents: readonly string[] } }): string {
  return from === undefined ? '' : ` of ${from.agents.join(' > ')}`;
}

function reasonText(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
