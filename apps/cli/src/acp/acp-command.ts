import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import type { AcpArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { oneLine } from '../text/cells/printable.ts';
import { limitLines } from '../text/limit-lines.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { AcpServer } from './acp-server.ts';

/** Maximum length of a message of the editor, in bytes. Pictures are part of a message. */
const maxMessageBytes = 32 * 1024 * 1024;
const maxProblemLength = 500;

/**
 * Runs the agent for an editor until the editor closes the input. Standard output carries only messages of
 * the protocol. Problems go to standard error.
 */
export async function acpCommand(args: AcpArgs, host: Host): Promise<number> {
  const { stdin, stdout, stderr, signal } = host;
  const onProblem = (problem: string) =>
    writeText(stderr, `${oneLine(problem, maxProblemLength)}\n`);
  const server = new AcpServer({ args, host, onProblem });
  const output = Writable.toWeb(stdout as Writable) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(stdin as Readable) as ReadableStream<Uint8Array>;
  const limited = input.pipeThrough(limitLines({ maxBytes: maxMessageBytes, onProblem }));
  const connection = server.app().connect(ndJsonStream(output, limited, { maxMessageBytes }));
  const stop = () => connection.close();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    await connection.closed;
  } finally {
    signal.removeEventListener('abort', stop);
    await server.close();
  }
  return exitCodes.done;
}
