import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { isMillraceError } from '@millrace/core';
import { UsageError } from '../args/usage-error.ts';
import { exitCodes } from '../exit-code.ts';
import { importLines } from './import-lines.ts';
import { linesIn } from './lines-in.ts';
import type { SessionsContext } from './sessions-context.ts';

/** From files, or from what is piped in. Standard output has the ids, one a line. */
export async function importSessions(context: SessionsContext): Promise<number> {
  const { args, stdin } = context;
  if (args.operands.length === 0 && stdin.isTTY)
    throw new UsageError(
      'Cannot import: there is nothing to read. Name a file (millrace sessions import file.jsonl), or pipe one in',
    );
  const sources = args.operands.length === 0 ? [undefined] : args.operands;
  for (const source of sources) await importFrom(source, context);
  return exitCodes.done;
}

async function importFrom(
  path: string | undefined,
  { log, output, notes, stdin, cwd }: SessionsContext,
): Promise<void> {
  const input = path === undefined ? stdin : createReadStream(resolve(cwd, path));
  try {
    for await (const { session, isKept } of importLines(log, linesIn(input))) {
      if (isKept) await notes.write(`Session ${session} is there already, and stays as it is\n`);
      else await output.write(`${session}\n`);
    }
  } catch (error) {
    throw isMillraceError(error) ? error : unreadable(path, error);
  }
}

function unreadable(path: string | undefined, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined) return cause;
  const what = path ?? 'the standard input';
  return new UsageError(`Cannot read ${what} (${code}). Name a file that is there`, {}, { cause });
}
