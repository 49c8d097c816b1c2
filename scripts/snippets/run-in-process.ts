// Runs files one after the other in one process, and writes the output of each as JSON:
//   node run-in-process.ts files.json results.json
// The next file starts when nothing keeps the process alive. So late output still belongs to the
// file that printed it.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The outcome of one snippet. */
export interface SnippetOutcome {
  readonly file: string;
  readonly printed: string;
  /** The error that the snippet threw, with its stack. */
  readonly error?: string;
}

const [, , list = '', results = ''] = process.argv;
const files = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
const outcomes: SnippetOutcome[] = [];

let printed = '';
process.stdout.write = (chunk: string | Uint8Array): boolean => {
  printed += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
  return true;
};

/**
 * Resolves when nothing keeps the process alive. So a snippet must close all resources that it
 * opens.
 */
const untilIdle = () =>
  // Without the immediate, the process would end before the promise resolves.
  new Promise<void>((resolve) => process.once('beforeExit', () => setImmediate(resolve)));

async function runAll(): Promise<void> {
  for (const file of files) {
    printed = '';
    let error: string | undefined;
    try {
      await import(pathToFileURL(file).href);
    } catch (thrown) {
      error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    }
    // The outcome is also recorded when the process exits, because some libraries end an idle
    // process.
    const record = () => {
      // Documents always show whole lines, so a missing line break is added.
      if (printed !== '' && !printed.endsWith('\n')) printed += '\n';
      outcomes.push(error === undefined ? { file, printed } : { file, printed, error });
      writeFileSync(results, JSON.stringify(outcomes));
    };
    if (error !== undefined) {
      // After an error, a server of the snippet may still be open, so the process would never be
      // idle. The process exits now.
      record();
      process.exit();
    }
    process.once('exit', record);
    await untilIdle();
    process.off('exit', record);
    record();
  }
}

void runAll();
