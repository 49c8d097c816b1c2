import type { RunResult } from '@millrace/agent';
import { type AgentEvent, encodeEvent } from '@millrace/core';
import type { AnswerStream } from './answer-stream.ts';
import type { Notes } from './notes.ts';
import type { Output } from './output.ts';
import { printable } from './printable.ts';

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
