import type { RpcArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { oneLine } from '../text/cells/printable.ts';
import { readLimitedLines } from '../text/limit-lines.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { RpcServer } from './rpc-server.ts';

/** Maximum length of a line of the client, in bytes. Pictures are part of a line. */
const maxLineBytes = 32 * 1024 * 1024;
const maxProblemLength = 500;

/**
 * Runs sessions for a program until the program closes the input or the output. Standard output carries only
 * messages of the protocol. Problems that belong to no session go to standard error.
 */
export async function rpcCommand(args: RpcArgs, host: Host): Promise<number> {
  const { stdin, stdout, stderr, signal } = host;
  const onProblem = (problem: string) =>
    writeText(stderr, `${oneLine(problem, maxProblemLength)}\n`);
  const ended = new AbortController();
  const output = new Output(stdout, { onFailure: () => ended.abort() });
  const write = (line: string) => output.writeData(`${line}\n`);
  const server = new RpcServer({ args, host, write, onProblem });
  const lines = readLimitedLines(stdin, {
    ...{ maxBytes: maxLineBytes, onProblem },
    signal: AbortSignal.any([signal, ended.signal]),
  });
  try {
    for await (const line of lines) await server.handle(line);
  } finally {
    lines.close();
    await server.close();
  }
  return exitCodes.done;
}
